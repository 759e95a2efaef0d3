// LaneLock: a lock that belongs to one lane and is taken from several.
//
// Promise    One holder at a time, in the order of arrival on `home`. What the last holder caused
//            on `home` before it released the lock, and posted from there, has reached this lane
//            when acquire() returns.
// Threading  `lane`.
#pragma once

#include "io/sync.h"

namespace moraine {

class LaneLock {
 public:
  // `permits` has one permit and is used on `home`; all three outlive the object.
  LaneLock(Semaphore& permits, Executor& home, Executor& lane)
      : permits_(permits), home_(home), lane_(lane) {}

  // Continues from a callback of `lane`, behind what was posted to it before.
  Task<void> acquire() {
    co_await hop(home_);
    co_await permits_.acquire();
    co_await yield(lane_);
  }
  void release() {
    home_.post([&permits = permits_] { permits.release(); });
  }

 private:
  Semaphore& permits_;
  Executor& home_;
  Executor& lane_;
};

}  // namespace moraine
