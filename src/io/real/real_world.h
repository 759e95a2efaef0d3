// RealWorld: the World of one lane, on real threads, disks, sockets and clocks.
//
// Threading  As Lane. Destroyed after stop() of a started lane, or by the thread that ran it; the
//            network is stopped (TcpNetwork::stop) before that when its handlers may run.
#pragma once

#include <chrono>

#include "io/real/lane.h"
#include "io/real/os_random.h"
#include "io/real/real_disk.h"
#include "io/real/tcp_network.h"
#include "io/world.h"

namespace moraine {

class SystemClock final : public WallClock {
 public:
  std::chrono::milliseconds since_epoch() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  }
};

class RealWorld {
 public:
  // A default network has node 0 alone: calls to self work, no other node is known.
  explicit RealWorld(LaneOptions lane = {}, TcpNetworkOptions network = {})
      : lane_(std::move(lane)), disks_(lane_), network_(lane_, std::move(network)) {}

  World world() { return {lane_, clock_, random_, disks_, network_}; }
  Lane& lane() { return lane_; }
  TcpNetwork& network() { return network_; }
  DiskStore& disks() { return disks_; }
  template <class T>
  T run(Task<T> task) {
    return lane_.run(std::move(task));
  }

 private:
  Lane lane_;
  SystemClock clock_;
  OsRandom random_;
  RealDiskStore disks_;
  TcpNetwork network_;
};

}  // namespace moraine
