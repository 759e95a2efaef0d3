// LockHistory: when locks of rows were last taken and committed.
//
// Rows are identified by the hash of their key: two with the same hash may, very rarely, abort each
// other's writers. They are kept by age, in batches of kHistoryBatchRows, newest last, so that
// transactions that began recently search few rows, which are in the processor's caches, and the
// oldest are dropped together.
//
// Promise    find() reports everything recorded after `start`, unless it was dropped; then
//            horizon() is at or above it.
// Threading  The tablet's executor.
// Limits     kRememberedRowsMax rows; the oldest are dropped first. The owner may drop more: by
//            age, or because other tablets need the memory.
// Tests      lock_table_test.cpp.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "table/model/change.h"
#include "table/tablet/transaction_id.h"

namespace moraine::table {

inline constexpr std::size_t kRememberedRowsMax = 2'000'000;
inline constexpr std::size_t kHistoryBatchRows = 57'344;  // As many as fit 65,536 slots.

// A value for each lock of a row: the primary one, and the groups that ever needed one. A lock
// without an entry reads as a default-constructed Lock; the non-const lock() creates the entry.
template <class Lock>
struct RowLocks {
  using Group = std::pair<std::uint8_t, Lock>;

  Lock primary;
  std::vector<Group> groups;

  const Lock& lock(std::size_t index) const {
    static const Lock kNone;
    const Lock* found = find(index);
    return found == nullptr ? kNone : *found;
  }
  Lock& lock(std::size_t index) {
    if (const Lock* found = find(index)) return const_cast<Lock&>(*found);
    return groups.emplace_back(static_cast<std::uint8_t>(index), Lock()).second;
  }

 private:
  // Null: no entry.
  const Lock* find(std::size_t index) const {
    if (index == 0) return &primary;
    for (const Group& group : groups) {
      if (group.first == index) return &group.second;
    }
    return nullptr;
  }
};

// Commit timestamps of one lock, by the modes that matter later.
struct LockStamps {
  Timestamp exclusive = 0;
  Timestamp shared_write = 0;
  Timestamp strong_read = 0;
  TransactionId last;        // Owner of the newest of them; all zeros: unknown.
  bool only_locked = false;  // The exclusive one changed nothing.

  Timestamp newest() const { return std::max({exclusive, shared_write, strong_read}); }
  void record(LockMode mode, ChangeKind kind, Timestamp commit, const TransactionId& id);
  void add(const LockStamps& other);
};

using RowStamps = RowLocks<LockStamps>;

class LockHistory {
 public:
  explicit LockHistory(Timestamp horizon, std::size_t batch_rows = kHistoryBatchRows)
      : batch_rows_(batch_rows), horizon_(horizon) {}

  // Records the locks of a change of the row with this hash.
  void record(std::uint64_t key_hash, const RowChange& change, Timestamp commit,
              const TransactionId& id);
  // What was recorded after `start`, and possibly some before it. False: nothing; `out` is
  // unchanged.
  bool find(std::uint64_t key_hash, Timestamp start, RowStamps& out) const;
  // Prefetches what record() and find() of this hash read first; a hint.
  void prefetch(std::uint64_t key_hash) const {
    if (!batches_.empty()) batches_.back().rows.prefetch(key_hash);
  }
  // Drops what was committed before `before`, which becomes the horizon.
  void forget(Timestamp before);
  // Drops batches of which everything was committed before `before`. The horizon moves only up to
  // what was dropped: without that, transactions that began later still succeed.
  void expire(Timestamp before);
  // Requires: there are batches.
  void drop_oldest();
  // Drops everything without moving the horizon.
  void drop_all();

  Timestamp horizon() const { return horizon_; }
  std::size_t size() const { return size_; }
  // Memory of all batches, and of the oldest.
  std::size_t bytes() const;
  std::size_t oldest_bytes() const;
  // The newest commit of the oldest batch: dropping it moves the horizon there. 0: no batches.
  Timestamp oldest() const { return batches_.empty() ? 0 : batches_.front().newest; }

 private:
  struct SameHash {
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };
  struct Batch {
    absl::flat_hash_map<std::uint64_t, RowStamps, SameHash> rows;
    std::size_t groups = 0;  // Entries of lock groups.
    Timestamp newest = 0;
    Timestamp newest_before = 0;  // Of all older ones.
    std::size_t bytes() const;
  };

  const std::size_t batch_rows_;
  std::deque<Batch> batches_;
  std::size_t size_ = 0;
  std::size_t full_bytes_ = 0;  // Of all batches but the last.
  Timestamp horizon_;
};

}  // namespace moraine::table
