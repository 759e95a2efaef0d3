// RealLanes: the lanes of one process, each with a World.
//
// Promise    worlds()[0] has the network; the other lanes reach it by a hop. The first lane is run
//            by the caller: lane(0).start() or lane(0).run().
// Threading  Made and destroyed by one thread, which does not own a lane at that time; the other
//            lanes run from start() to stop().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/lane_network.h"
#include "io/real/real_world.h"

namespace moraine {

inline constexpr std::size_t kLanesMax = 256;

// One for each processor that this process may use, within kLanesMax.
std::size_t default_lanes();

class RealLanes {
 public:
  // Requires: 1 to kLanesMax lanes.
  RealLanes(std::size_t count, const std::string& name, TcpNetworkOptions network = {});
  RealLanes(const RealLanes&) = delete;
  RealLanes& operator=(const RealLanes&) = delete;
  ~RealLanes() { stop(); }

  // Starts all lanes but the first.
  void start();
  // Stops all lanes but the first.
  void stop();

  RealWorld& first() { return *first_; }
  std::size_t size() const { return 1 + others_.size(); }
  Lane& lane(std::size_t index);
  std::vector<World> worlds();

 private:
  struct Other {
    Other(RealWorld& first, LaneOptions options);
    Lane lane;
    OsRandom random;
    RealDiskStore disks;
    LaneNetwork network;
  };

  SystemClock clock_;
  std::unique_ptr<RealWorld> first_;
  std::vector<std::unique_ptr<Other>> others_;
};

// The processor time of each lane, in the Prometheus format.
std::string lane_metrics(RealLanes& lanes);

}  // namespace moraine
