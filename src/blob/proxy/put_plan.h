// PutPlan: which part of one blob goes to which disk next, and when the put is decided.
//
// Promise    kOk only when the counted acknowledgements are a write quorum. Each main gets its own
//            part; parts of failed or slow mains go to handoffs, distinct parts to distinct disks.
//            The plan continues until the failed slots exceed the fail model.
// Invariants (1) An acknowledgement of a former incarnation, or older than ok_lifetime at the
//            decision, does not count; the part is sent again. (2) At most writes_max() part
//            writes.
// Threading  None: a value without I/O.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "blob/group/geometry.h"
#include "blob/group/quorum.h"
#include "io/executor.h"

namespace moraine::blob {

struct PartPlace {
  std::uint8_t slot = 0;
  std::uint8_t part = 0;
  bool operator==(const PartPlace&) const = default;
};

class PutPlan {
 public:
  enum class State : std::uint8_t { kWaiting, kOk, kError, kOutOfSpace };
  struct Step {
    State state = State::kWaiting;
    std::vector<PartPlace> sends;  // In flight from now on, until acknowledged or failed.
  };

  // Slots in `slow` are used only when nothing better is left.
  PutPlan(const Geometry& geometry, DiskSet slow, Duration ok_lifetime)
      : geometry_(geometry), ok_lifetime_(ok_lifetime), slow_(slow) {}

  // The part is known to be stored there, as of `at`.
  void seed(PartPlace place, std::uint64_t incarnation, Instant at);
  // What to do now. kWaiting: at least one part is in flight.
  Step next(Instant now);
  // Incarnation 0: the reply did not have one.
  void acknowledged(PartPlace place, std::uint64_t incarnation, Instant at);
  void failed(PartPlace place, std::uint64_t incarnation, bool out_of_space);
  // The put takes longer than expected: the slot in flight with the greatest `predicted` (by slot;
  // mirror-3-dc: every slot in flight) counts as slow from now on. Returns these slots. Each slot
  // is late once: none are returned when all that are in flight were late before.
  DiskSet accelerate(std::span<const Duration> predicted);

  std::uint32_t writes() const { return writes_; }
  std::uint32_t writes_max() const;
  PartLayout layout() const;  // All acknowledged parts.

 private:
  enum class Part : std::uint8_t { kIdle, kInFlight, kAcknowledged };
  struct Place {
    Part state = Part::kIdle;
    Instant at;  // When acknowledged.
  };

  Place& place(PartPlace at) { return places_[at.slot][at.part - 1]; }
  const Place& place(PartPlace at) const { return places_[at.slot][at.part - 1]; }
  void meet(std::uint8_t slot, std::uint64_t incarnation);
  void drop_stale(Instant now);
  PartLayout fresh_layout(Instant now) const;
  State hopeless() const;
  std::uint32_t cost(PartPlace at) const;
  // The cheapest set of places that would be a write quorum; empty when there is none.
  std::vector<PartPlace> wanted() const;
  std::vector<PartPlace> wanted_block42() const;
  std::vector<PartPlace> wanted_mirror3dc() const;

  Geometry geometry_;
  Duration ok_lifetime_;
  DiskSet slow_;
  DiskSet accelerated_ = 0;
  DiskSet failed_ = 0;
  DiskSet out_of_space_ = 0;
  std::uint32_t writes_ = 0;
  std::uint32_t in_flight_ = 0;
  std::array<std::uint64_t, kSlotsMax> incarnations_{};
  std::array<std::array<Place, kPartsMax>, kSlotsMax> places_{};
};

}  // namespace moraine::blob
