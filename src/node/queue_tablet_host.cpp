#include "node/queue_tablet_host.h"

#include <fmt/format.h>

#include "base/invariant.h"

namespace moraine {

QueueTabletHost::QueueTabletHost(Executor& executor, QueueTablets& tablets, BootTurns& turns,
                                 TabletInfo info, std::uint32_t partitions,
                                 queue::PartitionConfig config, std::function<void()> changed,
                                 Placement* placement)
    : executor_(executor),
      tablets_(tablets),
      turns_(turns),
      info_(std::move(info)),
      partitions_(partitions),
      config_(std::move(config)),
      changed_(std::move(changed)),
      host_(executor, fmt::format("queue {}", info_.id.value),
            {[this] {
               return turns_.run(info_.latest_group(kLogChannel),
                                 [this] { return boot_in_turn(); });
             },
             [this](const std::shared_ptr<QueueTabletHandle>& tablet) { apply(tablet); },
             [this](const auto&) -> Task<void> { co_await growth_.join(); },
             still_here(placement, info_.id), changed_,
             [this](const std::shared_ptr<QueueTabletHandle>& tablet) { apply(tablet); }}) {}

void QueueTabletHost::set(std::uint32_t partitions, queue::PartitionConfig config) {
  INVARIANT(partitions >= partitions_, "{} partitions become {}", partitions_, partitions);
  partitions_ = partitions;
  config_ = std::move(config);
}

Task<Result<std::unique_ptr<QueueTabletHandle>>> QueueTabletHost::boot_in_turn() {
  if (host_.stopping()) co_return fail(Errc::kUnavailable, "stopping");
  std::vector<queue::PartitionSetup> setups;
  for (queue::PartitionIndex i = 0; i < partitions_; ++i) setups.push_back({i, config_});
  given_ = partitions_;
  co_return co_await tablets_.boot(info_, std::move(setups));
}

// The topic may have changed while the tablet was starting.
void QueueTabletHost::apply(const std::shared_ptr<QueueTabletHandle>& tablet) {
  for (queue::PartitionIndex i = 0; i < given_; ++i) {
    if (const auto partition = tablet->partition(i)) partition->configure(config_);
  }
  if (growth_.live() == 0) growth_.spawn(grow(tablet));
}

Task<void> QueueTabletHost::grow(std::shared_ptr<QueueTabletHandle> tablet) {
  while (given_ < partitions_ && !host_.stopping()) {
    const queue::PartitionIndex index = given_;
    queue::PartitionSetup setup{index, config_};
    const auto added = co_await tablet->add_partition(std::move(setup));
    if (!added) {
      log_error("partition not added",
                {{"tablet", info_.id.value}, {"partition", index}, {"error", added.error()}});
      host_.restart();
      break;
    }
    ++given_;
    // The config may have changed meanwhile.
    if (const auto partition = tablet->partition(index)) partition->configure(config_);
    if (changed_) changed_();
  }
  grown_.notify_all();
}

Task<bool> QueueTabletHost::wait_running(Instant deadline) {
  while (!host_.stopping()) {
    if (!co_await host_.wait(deadline)) co_return false;
    if (given_ >= partitions_) co_return true;
    if (!co_await grown_.wait_until(deadline)) co_return false;
  }
  co_return false;
}

std::shared_ptr<queue::Partition> QueueTabletHost::partition(queue::PartitionIndex index) const {
  const auto tablet = host_.get();
  return tablet ? tablet->partition(index) : nullptr;
}

HomePartition QueueTabletHost::home(queue::PartitionIndex index) const {
  const auto tablet = host_.get();
  return tablet ? tablet->home(index) : HomePartition();
}

std::vector<HomePartition> QueueTabletHost::homes() const {
  std::vector<HomePartition> homes;
  const auto tablet = host_.get();
  for (queue::PartitionIndex i = 0; tablet && i < given_; ++i) homes.push_back(tablet->home(i));
  return homes;
}

Task<void> QueueTabletHost::stop() {
  co_await host_.stop();
  grown_.notify_all();
}

void QueueTabletHost::abandon() {
  host_.abandon();
  grown_.notify_all();
}

}  // namespace moraine
