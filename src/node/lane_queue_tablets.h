// LaneQueueTablets: the tablets of topics, spread over the lanes of a node.
//
// Promise    As QueueTablets. A tablet runs on the lane that `lane_of` names for it, every time.
// Threading  Called on the control lane, as are the handles that boot() returns.
// Tests      lanes_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "node/queue_tablets.h"

namespace moraine {

// Which lane runs a tablet.
using LaneOf = std::function<std::size_t(TabletId)>;

class LaneQueueTablets final : public QueueTablets {
 public:
  struct Lane {
    Executor& executor;
    QueueTablets& tablets;  // Used on that executor.
  };

  // All lanes outlive the object and its tablets.
  LaneQueueTablets(Executor& control, std::vector<Lane> lanes, LaneOf lane_of)
      : control_(control), lanes_(std::move(lanes)), lane_of_(std::move(lane_of)) {}

  Task<Result<std::unique_ptr<QueueTabletHandle>>> boot(
      TabletInfo info, std::vector<queue::PartitionSetup> partitions) override;
  Task<Result<void>> remove(TabletInfo info) override;

 private:
  Executor& control_;
  const std::vector<Lane> lanes_;
  const LaneOf lane_of_;
};

}  // namespace moraine
