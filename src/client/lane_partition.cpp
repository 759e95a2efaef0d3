#include "client/lane_partition.h"

#include "base/node_bug.h"
#include "io/run_on.h"

namespace moraine {

using queue::Offset;
using queue::StoredEntry;
using queue::WriteAnswer;

std::shared_ptr<queue::Partition> HomePartition::for_lane(Executor& lane) const {
  if (!partition || home == &lane) return partition;
  return std::make_shared<LanePartition>(partition, *home, lane);
}

LanePartition::~LanePartition() {
  if (!home_watch_) return;
  home_.post([partition = std::weak_ptr(partition_), watch = home_watch_] {
    if (const auto present = partition.lock()) present->unwatch(watch->id);
  });
}

Task<void> LanePartition::answer(std::shared_ptr<OneShot<WriteAnswer>> answered, Executor& lane,
                                 std::shared_ptr<OneShot<WriteAnswer>> done) {
  WriteAnswer result = co_await *answered;
  lane.post([done = std::move(done), result = std::move(result)]() mutable {
    done->set(std::move(result));
  });
}

std::shared_ptr<OneShot<WriteAnswer>> LanePartition::write(queue::WriteRequest request) {
  const auto done = std::make_shared<OneShot<WriteAnswer>>();
  home_.post([partition = partition_, request = std::move(request), done, &lane = lane_]() mutable {
    spawn(answer(partition->write(std::move(request)), lane, std::move(done)));
  });
  if (has_bug(NodeBug::kAckLaneWriteEarly)) {
    WriteAnswer early;
    early.status = queue::WriteStatus::kOk;
    early.offset = partition_->info().end;
    done->set(std::move(early));
  }
  return done;
}

Task<Result<queue::ReadAnswer>> LanePartition::read(queue::ReadRequest request) {
  const auto self = shared_from_this();
  co_await hop(home_);
  Result<queue::ReadAnswer> result = co_await partition_->read(request);
  co_await hop(lane_);
  co_return result;
}

void LanePartition::read_ahead(Offset offset, std::size_t bytes) {
  home_.post([partition = partition_, offset, bytes] { partition->read_ahead(offset, bytes); });
}

Task<Result<std::optional<StoredEntry>>> LanePartition::find_time(std::int64_t time_ms) {
  const auto self = shared_from_this();
  co_return co_await run_on(home_, lane_, [&] { return partition_->find_time(time_ms); });
}

Task<Result<std::optional<StoredEntry>>> LanePartition::find_time_from(Offset from,
                                                                       std::int64_t time_ms) {
  const auto self = shared_from_this();
  co_return co_await run_on(home_, lane_,
                            [&] { return partition_->find_time_from(from, time_ms); });
}

Task<Result<std::optional<StoredEntry>>> LanePartition::find_newest() {
  const auto self = shared_from_this();
  co_return co_await run_on(home_, lane_, [&] { return partition_->find_newest(); });
}

Task<void> LanePartition::commit_later(std::shared_ptr<queue::Partition> partition,
                                       queue::ConsumerOffset offset) {
  (void)co_await partition->commit(std::move(offset));
}

Task<Result<void>> LanePartition::commit(queue::ConsumerOffset offset) {
  const auto self = shared_from_this();
  if (has_bug(NodeBug::kAckLaneCommitEarly)) {
    home_.post([partition = partition_, offset = std::move(offset)]() mutable {
      spawn(commit_later(std::move(partition), std::move(offset)));
    });
    co_return Result<void>();
  }
  co_return co_await run_on(home_, lane_, [&] { return partition_->commit(std::move(offset)); });
}

Task<Result<void>> LanePartition::forget_consumer(std::string consumer) {
  const auto self = shared_from_this();
  co_return co_await run_on(home_, lane_,
                            [&] { return partition_->forget_consumer(std::move(consumer)); });
}

Task<Result<Offset>> LanePartition::trim(Offset offset) {
  const auto self = shared_from_this();
  co_return co_await run_on(home_, lane_, [&] { return partition_->trim(offset); });
}

void LanePartition::configure(queue::PartitionConfig config) {
  home_.post([partition = partition_, config = std::move(config)]() mutable {
    partition->configure(std::move(config));
  });
}

// A callback may watch and unwatch.
void LanePartition::Watches::notify() {
  std::vector<std::shared_ptr<Watch>> called;
  for (const auto& [id, watch] : by_id) called.push_back(watch);
  for (const auto& watch : called) {
    if (watch->active) watch->callback();
  }
}

// A mark that is set before the figures are read, and read after they were changed: the caller sees
// the change, or is notified. The first notification is sent anyway: the end may move before the
// watch is there.
std::uint64_t LanePartition::watch(Callback moved) {
  const std::uint64_t id = watches_->next++;
  watches_->by_id.emplace(id, std::make_shared<Watch>(std::move(moved)));
  if (home_watch_) {
    home_watch_->wanted = true;
    return id;
  }
  home_watch_ = std::make_shared<HomeWatch>();
  home_watch_->wanted = true;
  home_.post([partition = partition_, watch = home_watch_, watches = std::weak_ptr(watches_),
              &lane = lane_] {
    const auto notify = [watch, watches, &lane] {
      if (!watch->wanted || watch->posted.exchange(true)) return;
      lane.post([watch, watches] {
        watch->posted.exchange(false);
        if (const auto present = watches.lock()) present->notify();
      });
    };
    watch->id = partition->watch(notify);
    notify();
  });
  return id;
}

void LanePartition::unwatch(std::uint64_t watch) {
  const auto found = watches_->by_id.find(watch);
  if (found == watches_->by_id.end()) return;
  found->second->active = false;
  watches_->by_id.erase(found);
  if (watches_->by_id.empty()) home_watch_->wanted = false;
}

}  // namespace moraine
