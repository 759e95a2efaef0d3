// Barriers: which blobs of each (tablet, channel) may be collected, as one disk knows it.
//
// Promise    Pure bookkeeping: merging records in any order, any number of times, ends in the same
//            state. A hard barrier takes effect at once; a soft one when a group quorum of disks is
//            known to have its record, so that the barrier of a deleted blob is never lost.
// Limits     kPendingBarriersMax records per sequence wait for their quorum; past it the oldest are
//            dropped, which only delays collection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "blob/ingress.h"
#include "blob/protocol.h"

namespace moraine::blob {

inline constexpr std::size_t kPendingBarriersMax = 64;

// One sequence of barrier records.
struct BarrierSequence {
  TabletId tablet;
  Channel channel = 0;
  bool hard = false;
  auto operator<=>(const BarrierSequence&) const = default;
};

struct BarrierRecordKey {
  Generation generation = 0;
  std::uint32_t counter = 0;
  auto operator<=>(const BarrierRecordKey&) const = default;
};

struct BarrierRecord {
  GenStep barrier;
  DiskSet seen = 0;
};

class Barriers {
 public:
  using Records = std::map<BarrierRecordKey, BarrierRecord>;
  struct Sequence {
    Records records;               // The newest in effect, and those after it.
    std::optional<GenStep> holds;  // The barrier in effect.
  };

  // The answer to a collect command's barrier: kOk (new or known only from others), kAlready, or
  // kError with the reason.
  struct Answer {
    Status status = Status::kOk;
    std::string reason;
  };
  Answer check(const BarrierFact& fact, std::uint32_t own_order) const;

  // The record as it would be after merging, or nullopt when merging would change nothing.
  std::optional<BarrierFact> news(const BarrierFact& fact, std::uint32_t own_order) const;
  // Merges; returns the sequence's former barrier when it moved.
  struct Moved {
    BarrierSequence sequence;
    std::optional<GenStep> from;
    GenStep to;
  };
  std::optional<Moved> merge(const BarrierFact& fact, const Geometry& geometry);

  // The current state of the record of `fact`; the fact itself when the record was superseded.
  BarrierFact current(const BarrierFact& fact) const;

  // The keep rule: above the hard barrier, and above the soft one or flagged Keep and not
  // DoNotKeep.
  bool keeps(const BlobId& id, Ingress ingress) const;
  std::optional<GenStep> soft(TabletId tablet, Channel channel) const;

  const std::map<BarrierSequence, Sequence>& all() const { return sequences_; }
  static BarrierFact fact_of(const BarrierSequence& sequence, BarrierRecordKey key,
                             const BarrierRecord& record);

 private:
  bool under(const BarrierSequence& sequence, GenStep at) const;
  std::map<BarrierSequence, Sequence> sequences_;
};

}  // namespace moraine::blob
