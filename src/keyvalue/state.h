// KeyValueState: the keys of a tablet and the blobs that they share.
//
// Invariants A blob is counted once for every piece of every value that refers to it, and once for
//            every read that holds it.
// Threading  The tablet's executor.
#pragma once

#include <map>
#include <vector>

#include "keyvalue/commands.h"
#include "tablet/leader.h"

namespace moraine {

class KeyValueState final : public TabletState {
 public:
  const KeyMap& keys() const { return keys_; }
  std::uint64_t lock_generation() const { return lock_generation_; }
  std::uint64_t bytes() const { return bytes_; }

  void apply(const std::vector<Change>& changes);
  void hold(const BlobId& id) { ++references_[id]; }
  void release(const BlobId& id);
  // Blobs that became unreferenced since the last call.
  std::vector<BlobId> take_unreferenced() { return std::exchange(unreferenced_, {}); }

  Result<void> restore(const std::vector<Slice>& pages) override;
  Result<void> replay(const Slice& body) override;
  std::vector<Slice> snapshot() const override;
  std::vector<BlobId> live_blobs() const override;

 private:
  void set(const std::string& key, const StoredValue& value);
  void erase(const std::string& key);

  KeyMap keys_;
  std::map<BlobId, std::uint32_t> references_;
  std::vector<BlobId> unreferenced_;
  std::uint64_t lock_generation_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace moraine
