// NodeWatch: polls a running node once a second and logs changes.
//
// Promise    One line for each change: a device fails, space runs out or is back, VDisks recover.
// Threading  The control lane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blob/node/blob_node.h"
#include "io/executor.h"

namespace moraine::app {

inline constexpr Duration kWatchPoll = 1s;

std::size_t recovering_vdisks(const blob::BlobNode& node);

class NodeWatch {
 public:
  NodeWatch(Executor& executor, blob::BlobNode& node, const blob::NodeConfig& own);
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;
  ~NodeWatch() { executor_.cancel(timer_); }

 private:
  void poll();
  void schedule_poll();
  void check_recovery();
  void check_space();
  std::string why_full() const;
  void check_failures();

  Executor& executor_;
  blob::BlobNode& node_;
  std::vector<std::uint32_t> healthy_devices_;  // Devices that have not failed.
  std::size_t recovering_ = 0;                  // As last logged.
  bool full_ = false;
  TimerId timer_;
};

}  // namespace moraine::app
