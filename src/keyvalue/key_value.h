// KeyValue: a tablet that keeps keys and values, changed by atomic transactions.
//
// Promise    execute() returns OK when the whole transaction is durable; any error but kUnavailable
//            means that it changed nothing. Reads see confirmed transactions only, and return the
//            value at the time of the call.
// Threading  The world's executor.
// Limits     commands.h; replies of at most kReadBytesMax.
// Errors     kNotFound, kInvalidArgument; kConflict: another lock generation, or a newer
//            incarnation of the tablet; kOverloaded; kUnavailable: the outcome is unknown;
//            kCorrupt: a value's blob is damaged beyond repair.
// Tests      key_value_test.cpp; value_fuzz.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keyvalue/commands.h"
#include "keyvalue/state.h"
#include "tablet/leader.h"

namespace moraine {

inline constexpr std::size_t kReadBytesMax = 25u << 20;
// Changed and perhaps not confirmed; with more the next transaction waits until all are confirmed.
inline constexpr std::size_t kViewKeysMax = 4'096;

struct KeyInfo {
  std::string key;
  std::uint64_t size = 0;
  std::uint64_t created_ms = 0;
};

struct RangeRead {
  struct Item {
    KeyInfo info;
    Slice value;
  };
  std::vector<Item> items;  // In key order, whole values.
  bool overrun = false;     // The limit was reached.
};

class KeyValue {
 public:
  static Task<Result<std::unique_ptr<KeyValue>>> boot(World world, BlobGroups& groups,
                                                      TabletInfo info, LeaderOptions options = {});
  Task<void> stop();
  void abandon() { leader_->abandon(); }

  // With a lock generation: fails with kConflict when it is not the current one.
  Task<Result<void>> execute(std::vector<Command> commands,
                             std::optional<std::uint64_t> lock = std::nullopt);
  // Increments the lock generation and returns the new one.
  Task<Result<std::uint64_t>> acquire_lock();

  // Bytes [offset, offset + size) of a value, up to its end; size 0: to the end.
  Task<Result<Slice>> read(std::string key, std::uint64_t offset = 0, std::uint64_t size = 0);
  Task<Result<RangeRead>> read_range(KeyRange range, std::uint64_t limit_bytes, bool with_data);
  std::vector<KeyInfo> list(const KeyRange& range, std::size_t most) const;
  std::optional<KeyInfo> find(const std::string& key) const;
  // The sizes of the pieces that the value was joined from; empty: no such key.
  std::vector<std::uint64_t> piece_sizes(const std::string& key) const;

  // How full the disks for values were at the last write; ask_colour() asks them now.
  blob::Colour colour() const { return leader_->colour(); }
  Task<Result<blob::Colour>> ask_colour();

  const Leader& leader() const { return *leader_; }
  const KeyValueState& state() const { return state_; }
  void on_end(Callback hook) { leader_->on_end(std::move(hook)); }

 private:
  KeyValue(World world, BlobGroups& groups)
      : world_(world), groups_(groups), view_(state_.keys()) {}

  struct Transaction {
    std::vector<Command> commands;
    std::optional<std::uint64_t> lock;
    bool raise_lock = false;
    std::uint64_t lock_given = 0;
    Result<void> outcome;
    std::vector<Change> changes;
    std::vector<BlobId> unused;  // Blobs of a transaction that failed.
  };
  Task<Result<void>> commit(std::shared_ptr<Transaction> transaction);
  ByteChain run(Transaction& transaction, const std::vector<BlobId>& blobs);
  void confirm(Transaction& transaction);
  void discard_unreferenced();
  Task<Result<Slice>> read_value(const StoredValue& value, std::uint64_t offset,
                                 std::uint64_t size);
  Task<Result<Slice>> read_pieces(std::vector<ValuePiece> pieces, std::uint64_t size);
  Task<void> read_piece(BlobId id, std::uint32_t offset, std::uint32_t size, Result<Slice>& out);

  World world_;
  BlobGroups& groups_;
  KeyValueState state_;
  // Confirmed keys and the transactions of the entry that is being written.
  KeyView view_;
  std::uint64_t pending_lock_ = 0;
  std::size_t unconfirmed_ = 0;
  std::unique_ptr<Leader> leader_;
};

}  // namespace moraine
