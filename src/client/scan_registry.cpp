#include "client/scan_registry.h"

#include <utility>

#include "client/scan.h"

namespace moraine::client {

std::uint64_t ScanRegistry::add(Scan& scan) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number = next_++;
  scans_.emplace(number, &scan);
  if (std::exchange(sweeping_, true)) return number;
  executor_.post([self = weak_from_this()] {
    if (const auto registry = self.lock()) registry->sweep_later();
  });
  return number;
}

void ScanRegistry::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  scans_.erase(number);
}

void ScanRegistry::sweep_later() {
  executor_.schedule(executor_.now() + kScanSweepPeriod, [self = weak_from_this()] {
    if (const auto registry = self.lock()) registry->sweep();
  });
}

void ScanRegistry::sweep() {
  const std::lock_guard lock(mutex_);
  const Instant now = executor_.now();
  std::erase_if(scans_, [now](const auto& entry) { return entry.second->release_if_idle(now); });
  sweeping_ = !scans_.empty();
  if (sweeping_) sweep_later();
}

}  // namespace moraine::client
