// The commands of a key-value tablet, and what each does to the keys: pure.
//
// Promise    A transaction's commands run in the order given, each seeing the effects of those
//            before it; when one fails the whole transaction changes nothing.
// Limits     kKeyBytesMax, kTransactionCommandsMax, kKeysPerRangeMax, kValuePiecesMax.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "keyvalue/value.h"

namespace moraine {

inline constexpr std::size_t kKeyBytesMax = 4'000;
inline constexpr std::size_t kTransactionCommandsMax = 10'000;
inline constexpr std::size_t kKeysPerRangeMax = 100'000;
inline constexpr std::size_t kValueBlobBytesMax = 8u << 20;  // Longer values use several blobs.
inline constexpr std::size_t kValuePiecesMax = 2'048;        // In one value, by concat.
inline constexpr std::size_t kInlineValueMax = 1'000;        // Up to this, values are in the log.

// Keys as byte strings; nullopt: unbounded.
struct KeyRange {
  std::optional<std::string> from;
  bool from_inclusive = true;
  std::optional<std::string> to;
  bool to_inclusive = false;

  bool below(const std::string& key) const;  // The key comes before the range.
  bool above(const std::string& key) const;
  static KeyRange prefix(std::string prefix);
};

struct WriteKey {
  std::string key;
  ByteChain value;
  bool force_blob = false;  // A blob even for a short value.
};
struct RenameKey {
  std::string from;
  std::string to;
};
struct CopyKeys {
  KeyRange range;
  std::string prefix_to_remove;
  std::string prefix_to_add;
};
struct ConcatKeys {
  std::vector<std::string> inputs;
  std::string output;
  bool keep_inputs = false;
};
struct DeleteKeys {
  KeyRange range;
};
// One key, if it exists.
DeleteKeys delete_key(std::string key);
using Command = std::variant<WriteKey, RenameKey, CopyKeys, ConcatKeys, DeleteKeys>;

using KeyMap = std::map<std::string, StoredValue>;

// The keys as they will be when all earlier transactions are confirmed.
class KeyView {
 public:
  explicit KeyView(const KeyMap& base) : base_(base) {}

  const StoredValue* find(const std::string& key) const;
  void set(std::string key, StoredValue value);
  void erase(const std::string& key);
  // Keys of the range in order; stops when `visit` returns false.
  void scan(const KeyRange& range,
            const std::function<bool(const std::string&, const StoredValue&)>& visit) const;
  // Changes since the last accept() or roll_back().
  const std::vector<Change>& changes() const { return changes_; }
  void accept();
  void roll_back();
  // Drops the overlay: the base has all of it now.
  void clear();
  // Keys that were changed since clear().
  std::size_t changed_keys() const { return overlay_.size(); }

 private:
  using Overlay = std::map<std::string, std::optional<StoredValue>>;
  void remember(const std::string& key);

  const KeyMap& base_;
  Overlay overlay_;
  std::vector<Change> changes_;
  // What the overlay held before each change; nullopt: nothing.
  std::vector<std::pair<std::string, std::optional<std::optional<StoredValue>>>> undo_;
};

// Checks the commands alone, without the keys.
Result<void> check(const std::vector<Command>& commands);

// Runs the commands on `view`. `blobs`: the ids of the blobs of blob_pieces(), in order. kNotFound:
// a rename or concat of a missing key. On failure the caller rolls the view back.
Result<void> run_commands(const std::vector<Command>& commands, const std::vector<BlobId>& blobs,
                          std::uint64_t now_ms, KeyView& view);

// The parts of the commands' values that go into blobs.
std::vector<ByteChain> blob_pieces(const std::vector<Command>& commands);

}  // namespace moraine
