#include "queue/queue_tablet.h"

#include <fmt/format.h>

#include "queue/facts.h"

namespace moraine::queue {

Task<Result<std::unique_ptr<QueueTablet>>> QueueTablet::boot(World world, BlobGroups& groups,
                                                             TabletInfo info, BlobCache& cache,
                                                             std::vector<PartitionSetup> partitions,
                                                             LeaderOptions options) {
  std::unique_ptr<QueueTablet> tablet(new QueueTablet(world, cache));
  CO_TRY(tablet->store_, co_await KeyValue::boot(world, groups, std::move(info), options));
  QueueTablet* const self = tablet.get();
  // Set before anything is loaded: the tablet may end at any time.
  tablet->store_->on_end([self] {
    for (const auto& [index, partition] : self->partitions_) partition->abandon();
    if (self->on_end_) std::exchange(self->on_end_, nullptr)();
  });
  for (PartitionSetup& setup : partitions) {
    const PartitionIndex index = setup.index;
    auto loaded = co_await tablet->load(std::move(setup));
    if (!loaded) {
      co_await tablet->stop();
      co_return std::unexpected(std::move(loaded).error());
    }
    tablet->partitions_.emplace(index, std::move(*loaded));
  }
  co_await tablet->note_created(tablet->partitions_);
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

// One at a time: note_created() must not store bounds of a partition that already serves.
Task<Result<void>> QueueTablet::add_partition(PartitionSetup setup) {
  co_await adding_.acquire();
  auto added = co_await add_one(std::move(setup));
  adding_.release();
  co_return added;
}

Task<Result<void>> QueueTablet::add_one(PartitionSetup setup) {
  const PartitionIndex index = setup.index;
  if (const auto found = partitions_.find(index); found != partitions_.end()) {
    found->second->configure(std::move(setup.config));
    co_return Result<void>();
  }
  CO_TRY(const auto partition, co_await load(std::move(setup)));
  Partitions added;
  added.emplace(index, partition);
  co_await note_created(std::move(added));
  if (const std::optional<Error> ended = store_->leader().ended()) {
    co_await partition->stop();
    co_return std::unexpected(*ended);
  }
  partitions_.emplace(index, partition);
  co_return Result<void>();
}

Task<Result<std::shared_ptr<StoredPartition>>> QueueTablet::load(PartitionSetup setup) {
  const PartitionIndex index = setup.index;
  const auto partition =
      std::make_shared<StoredPartition>(world_, *store_, cache_, std::move(setup));
  auto loaded = co_await partition->load();
  if (!loaded) {
    co_await partition->stop();
    co_return std::unexpected(std::move(loaded).error().within(fmt::format("partition {}", index)));
  }
  co_return partition;
}

// A partition of which nothing is stored, not even bounds, has never served. Its bounds are stored
// before it serves, so that later incarnations know that this one may have refused writes.
Task<void> QueueTablet::note_created(Partitions loaded) {
  std::erase_if(loaded, [](const auto& item) { return !item.second->never_served(); });
  if (loaded.empty()) co_return;
  std::vector<Command> commands;
  for (const auto& [index, partition] : loaded) {
    commands.emplace_back(WriteKey{meta_key(index), encode_bounds({})});
  }
  if (!co_await store_->execute(std::move(commands))) co_return;
  for (const auto& [index, partition] : loaded) partition->created();
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
