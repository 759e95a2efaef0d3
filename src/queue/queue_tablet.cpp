#include "queue/queue_tablet.h"

#include <fmt/format.h>

namespace moraine::queue {

Task<Result<std::unique_ptr<QueueTablet>>> QueueTablet::boot(World world, BlobGroups& groups,
                                                             TabletInfo info, BlobCache& cache,
                                                             std::vector<PartitionSetup> partitions,
                                                             LeaderOptions options) {
  std::unique_ptr<QueueTablet> tablet(new QueueTablet(world, cache));
  CO_TRY(tablet->store_, co_await KeyValue::boot(world, groups, std::move(info), options));
  QueueTablet* const self = tablet.get();
  // Before anything is loaded: it may end at any time.
  tablet->store_->on_end([self] {
    for (const auto& [index, partition] : self->partitions_) partition->abandon();
    if (self->on_end_) std::exchange(self->on_end_, nullptr)();
  });
  for (PartitionSetup& setup : partitions) {
    auto added = co_await tablet->add_partition(std::move(setup));
    if (!added) {
      co_await tablet->stop();
      co_return std::unexpected(std::move(added).error());
    }
  }
  if (const auto& ended = tablet->store_->leader().ended()) {
    Error error = *ended;
    co_await tablet->stop();
    co_return std::unexpected(std::move(error));
  }
  co_return std::move(tablet);
}

std::shared_ptr<Partition> QueueTablet::partition(PartitionIndex index) {
  const auto found = partitions_.find(index);
  return found == partitions_.end() ? nullptr : found->second;
}

Task<Result<void>> QueueTablet::add_partition(PartitionSetup setup) {
  const PartitionIndex index = setup.index;
  if (const auto found = partitions_.find(index); found != partitions_.end()) {
    found->second->configure(std::move(setup.config));
    co_return Result<void>();
  }
  auto partition = std::make_shared<StoredPartition>(world_, *store_, cache_, std::move(setup));
  auto loaded = co_await partition->load();
  if (!loaded) {
    co_await partition->stop();
    co_return std::unexpected(std::move(loaded).error().within(fmt::format("partition {}", index)));
  }
  if (const auto found = partitions_.find(index); found != partitions_.end()) {
    // Somebody else was quicker.
    co_await partition->stop();
    co_return Result<void>();
  }
  partitions_.emplace(index, std::move(partition));
  co_return Result<void>();
}

Task<void> QueueTablet::stop() {
  on_end_ = nullptr;
  for (const auto& [index, partition] : partitions_) co_await partition->stop();
  co_await store_->stop();
}

void QueueTablet::abandon() {
  on_end_ = nullptr;
  for (const auto& [index, partition] : partitions_) partition->abandon();
  store_->abandon();
}

}  // namespace moraine::queue
