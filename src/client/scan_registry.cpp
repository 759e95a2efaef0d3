#include "client/scan_registry.h"

#include <utility>

#include "client/scan.h"

namespace moraine::client {

void ScanRegistry::add(Scan& scan) {
  const std::lock_guard lock(mutex_);
  scans_.insert(&scan);
  if (std::exchange(sweeping_, true)) return;
  executor_.post([self = weak_from_this()] {
    if (const auto registry = self.lock()) registry->sweep_later();
  });
}

void ScanRegistry::remove(Scan& scan) {
  const std::lock_guard lock(mutex_);
  scans_.erase(&scan);
}

std::size_t ScanRegistry::open() const {
  const std::lock_guard lock(mutex_);
  return scans_.size();
}

void ScanRegistry::sweep_later() {
  executor_.schedule(executor_.now() + kScanSweepPeriod, [self = weak_from_this()] {
    if (const auto registry = self.lock()) registry->sweep();
  });
}

void ScanRegistry::sweep() {
  const std::lock_guard lock(mutex_);
  const Instant now = executor_.now();
  std::erase_if(scans_, [now](Scan* scan) { return scan->release_if_idle(now); });
  sweeping_ = !scans_.empty();
  if (sweeping_) sweep_later();
}

}  // namespace moraine::client
