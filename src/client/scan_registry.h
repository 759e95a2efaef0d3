// ScanRegistry: all started scans, so that idle ones are released.
//
// A scan holds the stores that a tablet had when the scan entered it: chunks that were replaced
// since stay on the disk, and memory stores in memory.
//
// Promise    A scan that was not used for its timeout is released within about kScanSweepPeriod,
//            whether or not it is called again. Those that are due are released in the order in
//            which they began.
// Threading  Any thread. Scans are released on the executor.
// Tests      embed/: idle_scan_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "io/executor.h"

namespace moraine::client {

inline constexpr Duration kScanSweepPeriod = 250ms;

class Scan;

class ScanRegistry : public std::enable_shared_from_this<ScanRegistry> {
 public:
  // The executor must outlive the registry.
  explicit ScanRegistry(Executor& executor) : executor_(executor) {}

  // Returns its number.
  std::uint64_t add(Scan& scan);
  // Call before the scan is destroyed, even if it was released.
  void remove(std::uint64_t number);

 private:
  void sweep();
  void sweep_later();

  Executor& executor_;
  mutable std::mutex mutex_;
  // In the order in which they began, so that simulations can be repeated. Guarded by mutex_.
  std::map<std::uint64_t, Scan*> scans_;
  std::uint64_t next_ = 1;  // Guarded by mutex_.
  bool sweeping_ = false;   // A sweep is scheduled. Guarded by mutex_.
};

}  // namespace moraine::client
