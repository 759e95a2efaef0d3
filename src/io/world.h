// World: everything that a component may use outside its own memory. Code above io/ reaches files,
// sockets, threads, clocks and random sources only through it.
#pragma once

#include <chrono>
#include <cstdint>

#include "io/disk.h"
#include "io/executor.h"
#include "io/network.h"
#include "io/random.h"

namespace moraine {

// Wall-clock time may jump in either direction; it is used only for logs and retention rules.
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
