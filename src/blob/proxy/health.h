// Latency and recent failures of the disks of one group, as one proxy measures them.
//
// Promise    Only a preference: nothing here decides an outcome. Measurements expire after
//            kMeasuredFor, so an avoided disk is tried again.
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
// A disk is very slow when it is expected to take this many times as long as the median disk.
inline constexpr std::int64_t kVerySlowFactor = 4;

// Exponentially weighted mean and deviation of one kind of latency of one disk.
class LatencyEstimate {
 public:
  void add(Duration latency, Instant now);
  // An upper bound for nearly all latencies; nullopt without recent measurements.
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
  // The disk has not replied after `waited`.
  void late(std::uint32_t order, Operation operation, Duration waited, Instant now);
  void failed(std::uint32_t order, Instant now) { disks_[order].failed_at = now; }
  void forget(std::uint32_t order) { disks_[order] = Disk{}; }
  void resize(std::size_t disks) { disks_.resize(disks); }

  // hedge_initial while nothing is known about the disk.
  Duration predicted(std::uint32_t order, Operation operation, Instant now) const;
  // Disks that failed recently or are very slow.
  DiskSet avoid(Operation operation, Instant now) const;
  // After this long without a reply another disk is called too.
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
