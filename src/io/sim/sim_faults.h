// Faults of the simulated world: their chances and counters.
//
// Promise    Every fault that reaches a component is counted under its kind, so that a scenario can
//            prove that the intended faults occurred.
// Threading  The thread of the simulation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/random.h"

namespace moraine {

enum class FaultKind : std::uint8_t {
  kReadError,
  kWriteError,
  kSyncError,
  kNoSpace,
  kReadOnly,
  kBitRot,
  kMisdirectedWrite,
  kLie,           // Acknowledged as durable, but not made so.
  kUnsyncedLost,  // By a crash or a failed sync.
  kUnsyncedTorn,
  kDiskSlow,
  kDiskStuck,
  kWipe,
  kMessageLost,
  kMessageDelayed,
  kMessageReordered,
  kMessageDuplicated,
  kMessagePartitioned,
  kMessageClogged,
  kCallRefused,  // By a node that is down or does not serve.
  kCallTimeout,
  kCrash,
  kPause,
  kClockJump,
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::kClockJump) + 1;

std::string_view to_string(FaultKind kind);

class FaultCounters {
 public:
  void add(FaultKind kind, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(kind)] += n; }
  std::uint64_t operator[](FaultKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  // Adds the counts of another world: a campaign sums its seeds.
  FaultCounters& operator+=(const FaultCounters& other);
  // The kinds that occurred, as "crash 3, read_error 12"; "none" when there were none.
  std::string to_string() const;

 private:
  std::array<std::uint64_t, kFaultKinds> counts_{};
};

// When a fault occurs: for the next `next` operations, and at random for one in `one_in` operations
// (0 is never, 1 always).
struct FaultChance {
  std::uint64_t one_in = 0;
  std::uint64_t next = 0;

  bool strikes(Random& random) {
    if (next > 0) {
      --next;
      return true;
    }
    return one_in > 0 && random.one_in(one_in);
  }
};

// The seed of one stream of random numbers. Streams of different purposes do not shift each other.
std::uint64_t stream_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

}  // namespace moraine
