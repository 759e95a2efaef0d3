#include "node/queue_tablets.h"

#include "tablet/leader.h"

namespace moraine {
namespace {

class StoredQueueTablet final : public QueueTabletHandle {
 public:
  StoredQueueTablet(Executor& executor, std::unique_ptr<queue::QueueTablet> tablet,
                    std::shared_ptr<queue::FactCounts> facts)
      : executor_(executor), tablet_(std::move(tablet)), facts_(std::move(facts)) {}

  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) override {
    return tablet_->partition(index);
  }
  HomePartition home(queue::PartitionIndex index) override {
    return {tablet_->partition(index), &executor_};
  }
  Task<Result<void>> add_partition(queue::PartitionSetup setup) override {
    setup.facts = facts_;
    return tablet_->add_partition(std::move(setup));
  }
  Task<void> stop() override { return tablet_->stop(); }
  void abandon() override { tablet_->abandon(); }
  void on_end(Callback hook) override { tablet_->on_end(std::move(hook)); }

 private:
  Executor& executor_;
  std::unique_ptr<queue::QueueTablet> tablet_;
  const std::shared_ptr<queue::FactCounts> facts_;
};

}  // namespace

Task<Result<std::unique_ptr<QueueTabletHandle>>> StoredQueueTablets::boot(
    TabletInfo info, std::vector<queue::PartitionSetup> partitions) {
  for (queue::PartitionSetup& setup : partitions) setup.facts = facts_;
  CO_TRY(auto tablet, co_await queue::QueueTablet::boot(world_, groups_, std::move(info), cache_,
                                                        std::move(partitions), options_));
  // It may have ended while its partitions were loaded; from here on on_end() reports it.
  if (const std::optional<Error> ended = tablet->store().leader().ended()) {
    co_await tablet->stop();
    co_return std::unexpected(*ended);
  }
  co_return std::make_unique<StoredQueueTablet>(world_.executor, std::move(tablet), facts_);
}

Task<Result<void>> StoredQueueTablets::remove(TabletInfo info) {
  return delete_tablet(world_, groups_, std::move(info));
}

}  // namespace moraine
