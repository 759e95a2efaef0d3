// World: all that one component may touch outside its own memory. Above io/ nothing reaches a file,
// socket, thread, clock or random source by any other way.
#pragma once

#include <chrono>
#include <cstdint>

#include "io/disk.h"
#include "io/executor.h"
#include "io/network.h"
#include "io/random.h"

namespace moraine {

// Wall-clock time may jump either way; only people and retention rules look at it.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual std::chrono::milliseconds since_epoch() const = 0;
};

struct World {
  Executor& executor;
  WallClock& clock;
  Random& random;
  DiskStore& disks;
  Network& network;
};

}  // namespace moraine
