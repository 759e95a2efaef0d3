#include "blob/proxy/health.h"

#include <algorithm>

namespace moraine::blob {

namespace {
constexpr std::int64_t kMeanWeight = 8;       // A sample moves the mean by 1/8 of its distance,
constexpr std::int64_t kDeviationWeight = 4;  // and the deviation by 1/4.
constexpr std::int64_t kDeviationsAbove = 4;
}  // namespace

void LatencyEstimate::add(Duration latency, Instant now) {
  const bool fresh = measured_at_ && now - *measured_at_ <= kMeasuredFor;
  measured_at_ = now;
  if (!fresh) {
    mean_ = latency;
    deviation_ = latency / 2;
    return;
  }
  const Duration error = latency - mean_;
  mean_ += error / kMeanWeight;
  deviation_ += (std::chrono::abs(error) - deviation_) / kDeviationWeight;
}

std::optional<Duration> LatencyEstimate::predicted(Instant now) const {
  if (!measured_at_ || now - *measured_at_ > kMeasuredFor) return std::nullopt;
  return mean_ + kDeviationsAbove * deviation_;
}

void GroupHealth::replied(std::uint32_t order, Operation operation, Duration latency, Instant now) {
  disks_[order].latency[static_cast<std::size_t>(operation)].add(latency, now);
  disks_[order].failed_at.reset();
}

void GroupHealth::late(std::uint32_t order, Operation operation, Duration waited, Instant now) {
  disks_[order].latency[static_cast<std::size_t>(operation)].add(waited, now);
}

Duration GroupHealth::predicted(std::uint32_t order, Operation operation, Instant now) const {
  return disks_[order].latency[static_cast<std::size_t>(operation)].predicted(now).value_or(
      options_.hedge_initial);
}

Duration GroupHealth::median(Operation operation, Instant now) const {
  std::array<Duration, kGroupDisksMax> known;
  std::size_t count = 0;
  for (const Disk& disk : disks_) {
    const auto predicted = disk.latency[static_cast<std::size_t>(operation)].predicted(now);
    if (predicted && count < known.size()) known[count++] = *predicted;
  }
  if (count == 0) return options_.hedge_initial;
  std::nth_element(known.begin(), known.begin() + count / 2, known.begin() + count);
  return known[count / 2];
}

DiskSet GroupHealth::avoid(Operation operation, Instant now) const {
  const Duration limit = std::max(options_.hedge_min, median(operation, now)) * kVerySlowFactor;
  DiskSet avoided = 0;
  for (std::uint32_t order = 0; order < disks_.size(); ++order) {
    const Disk& disk = disks_[order];
    const auto predicted = disk.latency[static_cast<std::size_t>(operation)].predicted(now);
    const bool slow = predicted && *predicted > limit;
    const bool bad = disk.failed_at && now - *disk.failed_at < options_.avoid_failed_for;
    if (slow || bad) avoided |= disk_bit(order);
  }
  return avoided;
}

Duration GroupHealth::hedge_delay(Operation operation, std::size_t bytes, Instant now) const {
  const Duration typical =
      std::clamp(median(operation, now), options_.hedge_min, options_.hedge_max);
  return typical + std::chrono::nanoseconds(bytes * 1'000'000'000 / kAssumedBytesPerSecond);
}

}  // namespace moraine::blob
