#include "node/lane_queue_tablets.h"

#include <map>

#include "io/run_on.h"

namespace moraine {
namespace {

class LaneQueueTablet final : public QueueTabletHandle {
 public:
  LaneQueueTablet(Executor& control, Executor& home, std::unique_ptr<QueueTabletHandle> tablet)
      : control_(control), home_(home), tablet_(std::move(tablet)) {}
  LaneQueueTablet(const LaneQueueTablet&) = delete;
  LaneQueueTablet& operator=(const LaneQueueTablet&) = delete;
  ~LaneQueueTablet() override {
    home_.post([tablet = std::move(tablet_)] {});
  }

  // On the home lane, as soon as the tablet has booted.
  void begin(const std::vector<queue::PartitionIndex>& indexes) {
    for (const queue::PartitionIndex index : indexes) {
      const auto partition = tablet_->partition(index);
      if (partition) partitions_[index] = {HomePartition{partition, &home_}, nullptr};
    }
    tablet_->on_end([end = end_, &control = control_] {
      control.post([end] {
        end->reached = true;
        if (end->hook) std::exchange(end->hook, nullptr)();
      });
    });
  }

  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) override {
    const auto found = partitions_.find(index);
    if (found == partitions_.end()) return nullptr;
    Known& known = found->second;
    if (!known.on_control) known.on_control = known.home.for_lane(control_);
    return known.on_control;
  }
  HomePartition home(queue::PartitionIndex index) override {
    const auto found = partitions_.find(index);
    return found == partitions_.end() ? HomePartition() : found->second.home;
  }
  Task<Result<void>> add_partition(queue::PartitionSetup setup) override {
    const queue::PartitionIndex index = setup.index;
    co_await hop(home_);
    const Result<void> added = co_await tablet_->add_partition(std::move(setup));
    const auto partition = added ? tablet_->partition(index) : nullptr;
    co_await hop(control_);
    if (partition) partitions_[index] = {HomePartition{partition, &home_}, nullptr};
    co_return added;
  }
  Task<void> stop() override {
    co_await hop(home_);
    co_await tablet_->stop();
    co_await hop(control_);
  }
  // The owner keeps this object until stop() has ended, which comes after.
  void abandon() override {
    home_.post([tablet = tablet_] { tablet->abandon(); });
  }
  void on_end(Callback hook) override {
    if (end_->reached) {
      control_.post(std::move(hook));
    } else {
      end_->hook = std::move(hook);
    }
  }

 private:
  struct Known {
    HomePartition home;
    std::shared_ptr<queue::Partition> on_control;  // Made when it is asked for.
  };

  // Used on control_.
  struct End {
    bool reached = false;
    Callback hook;
  };

  Executor& control_;
  Executor& home_;
  std::shared_ptr<QueueTabletHandle> tablet_;  // Used and destroyed on home_.
  const std::shared_ptr<End> end_ = std::make_shared<End>();
  std::map<queue::PartitionIndex, Known> partitions_;
};

Task<Result<std::unique_ptr<QueueTabletHandle>>> boot_here(
    Executor& control, LaneQueueTablets::Lane lane, TabletInfo info,
    std::vector<queue::PartitionSetup> partitions) {
  std::vector<queue::PartitionIndex> indexes;
  for (const queue::PartitionSetup& setup : partitions) indexes.push_back(setup.index);
  CO_TRY(auto booted, co_await lane.tablets.boot(std::move(info), std::move(partitions)));
  auto handle = std::make_unique<LaneQueueTablet>(control, lane.executor, std::move(booted));
  handle->begin(indexes);
  co_return handle;
}

}  // namespace

Task<Result<std::unique_ptr<QueueTabletHandle>>> LaneQueueTablets::boot(
    TabletInfo info, std::vector<queue::PartitionSetup> partitions) {
  const Lane& lane = lanes_[lane_of_(info.id)];
  co_return co_await run_on(lane.executor, control_, [&] {
    return boot_here(control_, lane, std::move(info), std::move(partitions));
  });
}

Task<Result<void>> LaneQueueTablets::remove(TabletInfo info) {
  const Lane& lane = lanes_[lane_of_(info.id)];
  co_return co_await run_on(lane.executor, control_,
                            [&] { return lane.tablets.remove(std::move(info)); });
}

}  // namespace moraine
