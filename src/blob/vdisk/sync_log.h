// SyncLog: the recent index facts of one disk, for its neighbours to pull.
//
// Promise    Facts are returned in the order in which they became durable, so a Keep flag is always
//            seen before a barrier that would collect its blob.
// Limits     kSyncLogFactsMax facts; a neighbour that is further behind needs a full sync.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>

#include "blob/protocol.h"

namespace moraine::blob {

inline constexpr std::size_t kSyncLogFactsMax = 1u << 18;

class SyncLog {
 public:
  struct Item {
    std::uint64_t lsn = 0;
    IndexFact fact;
  };

  // Starts empty: facts at or before `lsn` are not kept.
  void start_after(std::uint64_t lsn) {
    items_.clear();
    start_ = last_ = lsn;
  }
  // A fact at or before the start is ignored. Otherwise requires: lsn >= last().
  void push(std::uint64_t lsn, IndexFact fact);
  // Notes a record without facts for the neighbours.
  void advance(std::uint64_t lsn) { last_ = std::max(last_, lsn); }
  std::uint64_t last() const { return last_; }
  bool reaches(std::uint64_t after) const { return after >= start_ && after <= last_; }

  // Facts after `after` that `wanted` accepts, whole lsns only, about `most` of them. Requires:
  // reaches(after).
  struct Portion {
    std::vector<IndexFact> facts;
    std::uint64_t position = 0;
    bool more = false;
  };
  Portion read(std::uint64_t after, std::size_t most,
               const std::function<bool(const IndexFact&)>& wanted) const;

 private:
  std::deque<Item> items_;
  std::uint64_t start_ = 0;  // Facts up to here were dropped.
  std::uint64_t last_ = 0;
};

}  // namespace moraine::blob
