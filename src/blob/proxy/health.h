// How fast and how sound the disks of one group are, as one proxy sees them.
//
// Promise    Only a preference: nothing here decides an outcome. What was measured is forgotten
//            after kMeasuredFor, so an avoided disk is tried again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "blob/group/geometry.h"
#include "blob/proxy/requests.h"
#include "io/executor.h"

namespace moraine::blob {

enum class Operation : std::uint8_t { kWrite, kRead, kIndex };
inline constexpr std::size_t kOperations = 3;

inline constexpr Duration kMeasuredFor = 10s;
inline constexpr std::uint64_t kAssumedBytesPerSecond = std::uint64_t{64} << 20;
// A disk is very slow when it is expected to take so many times what the median disk takes.
inline constexpr std::int64_t kVerySlowFactor = 4;

// Exponentially weighted mean and deviation of one kind of latency of one disk.
class LatencyEstimate {
 public:
  void add(Duration latency, Instant now);
  // What nearly every answer stays below; nullopt when nothing was measured lately.
  std::optional<Duration> predicted(Instant now) const;

 private:
  Duration mean_{0};
  Duration deviation_{0};
  std::optional<Instant> measured_at_;
};

class GroupHealth {
 public:
  GroupHealth(std::size_t disks, const ProxyOptions& options) : options_(options), disks_(disks) {}

  void replied(std::uint32_t order, Operation operation, Duration latency, Instant now);
  // Not answered yet after `waited`.
  void late(std::uint32_t order, Operation operation, Duration waited, Instant now);
  void failed(std::uint32_t order, Instant now) { disks_[order].failed_at = now; }
  void forget(std::uint32_t order) { disks_[order] = Disk{}; }
  void resize(std::size_t disks) { disks_.resize(disks); }

  // hedge_initial while nothing is known of the disk.
  Duration predicted(std::uint32_t order, Operation operation, Instant now) const;
  // Disks that failed lately or are very slow.
  DiskSet avoid(Operation operation, Instant now) const;
  // After this long without an answer another disk is asked too.
  Duration hedge_delay(Operation operation, std::size_t bytes, Instant now) const;

 private:
  struct Disk {
    std::array<LatencyEstimate, kOperations> latency;
    std::optional<Instant> failed_at;
  };
  Duration median(Operation operation, Instant now) const;

  ProxyOptions options_;
  std::vector<Disk> disks_;
};

}  // namespace moraine::blob
