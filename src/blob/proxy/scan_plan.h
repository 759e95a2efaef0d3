// ScanPlan: finds out from the indexes of all its disks where the parts of one blob are.
//
// Promise    kEnough as soon as the goal is met. Otherwise it waits for every disk that is not late
//            and then decides: kAbsent when judge() proves that the blob was never confirmed. It
//            waits for late disks only while nothing can be decided without them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blob/group/quorum.h"
#include "blob/proxy/put_plan.h"
#include "blob/proxy/read_plan.h"

namespace moraine::blob {

class ScanPlan final : public ReadPlan {
 public:
  enum class Goal : std::uint8_t { kReadable, kConfirmed };
  enum class Outcome : std::uint8_t {
    kEnough,
    kRestorable,  // Goal kConfirmed: the blob can be read, but it is not confirmed.
    kAbsent,
    kUnknown,
  };
  struct Seen {
    PartPlace place;
    AnswerOrigin origin;
  };

  ScanPlan(const Geometry& geometry, const BlobId& id, Goal goal)
      : ReadPlan(geometry, id), goal_(goal) {}

  bool done() const override { return outcome_.has_value(); }
  void next(std::vector<ReadAsk>& asks) override;
  void answered(const ReadAsk& ask, std::span<const PartAnswer> answers,
                AnswerOrigin origin) override;
  void failed(const ReadAsk& ask) override;
  void late(std::uint32_t slot) override;

  // Requires: done().
  Outcome outcome() const { return *outcome_; }
  const std::vector<Seen>& seen() const { return seen_; }
  DiskSet silent() const { return all_slots() & ~answered_; }

 private:
  void settle();

  Goal goal_;
  DiskSet asked_ = 0;
  DiskSet in_flight_ = 0;
  DiskSet late_ = 0;
  DiskSet answered_ = 0;
  DiskSet definite_ = 0;
  PartLayout layout_;
  std::vector<Seen> seen_;
  std::optional<Outcome> outcome_;
};

}  // namespace moraine::blob
