// SimMedium: the bytes of one simulated disk, which are durable, and what a power cut leaves.
//
// Promise    Reads see every write that completed. A crash keeps what is durable and decides for
//            each other write by itself: kept, lost, or torn at sector bounds.
// Invariants durable_ with the whole of log_ applied in order is visible_, unless a disk lied or a
//            sync failed.
// Threading  One thread. No time passes here: io/sim/sim_drive.h decides when requests take effect.
// Limits     kUnsyncedMax writes wait for a sync; past it the oldest reaches the platter by itself.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "io/random.h"
#include "io/sim/disk_image.h"
#include "io/sim/sim_faults.h"

namespace moraine {

// The fate of writes that no sync covered, completed and in flight alike.
enum class CrashPolicy : std::uint8_t {
  kRandom,  // Each is kept, lost or torn, from the seed.
  kKeep,    // All are kept, as when only the process is killed.
  kLose,    // All are lost.
};

class SimMedium {
 public:
  static constexpr std::size_t kUnsyncedMax = std::size_t{1} << 16;

  const DiskImage& visible() const { return visible_; }
  std::size_t unsynced() const { return log_.size(); }

  // A write completes: readers see it from here on.
  void write(SimExtent extent, bool durable);
  // A write fails midway: any of its sectors may have arrived.
  void write_part(const SimExtent& extent, Random& random);

  // A sync covers the writes that completed before its mark was taken.
  std::uint64_t mark() const { return next_; }
  void sync(std::uint64_t mark);
  // Drops the covered writes as a kernel does after a failed sync: they stay visible, and no later
  // sync makes the lost ones durable.
  void fail_sync(std::uint64_t mark, Random& random, FaultCounters& faults);

  // The platter's contents after a power loss now, with these writes in flight.
  DiskImage crash_image(CrashPolicy policy, const std::vector<const SimExtent*>& in_flight,
                        FaultChance& misdirect, Random& random, FaultCounters& faults) const;
  // From now on `image` is both the durable and the visible contents.
  void replace(DiskImage image);
  // The flipped bit is on the platter whatever happens to the writes around it.
  void flip_bit(std::uint64_t offset, unsigned bit);

 private:
  struct Unsynced {
    SimExtent extent;
    SimSectorMask mask;    // The sectors of it that were written.
    std::uint64_t number;  // In order of completion.
    bool durable;          // Durable by itself; here because earlier writes of the log are not.
  };

  void settle_front();

  DiskImage durable_;
  DiskImage visible_;
  std::deque<Unsynced> log_;
  std::uint64_t next_ = 0;
};

}  // namespace moraine
