// Tablets of partitions without storage, for tests: they record their calls and fail on demand.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "node/queue_tablets.h"

namespace moraine {

class FakePartition final : public queue::Partition {
 public:
  explicit FakePartition(queue::PartitionConfig with) : config(std::move(with)) {}

  queue::PartitionConfig config;
  queue::PartitionInfo state;
  std::map<std::string, queue::ConsumerOffset> consumers;
  bool over = false;

  std::shared_ptr<OneShot<queue::WriteAnswer>> write(queue::WriteRequest) override {
    auto answer = std::make_shared<OneShot<queue::WriteAnswer>>();
    answer->set({.status = queue::WriteStatus::kStopped,
                 .offset = std::nullopt,
                 .max_number = 0,
                 .write_time_ms = 0,
                 .detail = "a fake"});
    return answer;
  }
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest) override {
    co_return queue::ReadAnswer();
  }
  Task<Result<std::optional<queue::StoredEntry>>> find_time(std::int64_t) override {
    co_return std::optional<queue::StoredEntry>();
  }
  Task<Result<std::optional<queue::StoredEntry>>> find_newest() override {
    co_return std::optional<queue::StoredEntry>();
  }
  Task<Result<void>> commit(queue::ConsumerOffset offset) override {
    const std::string name = offset.consumer;
    consumers[name] = std::move(offset);
    co_return Result<void>();
  }
  std::optional<queue::ConsumerOffset> committed(const std::string& consumer) const override {
    const auto found = consumers.find(consumer);
    if (found == consumers.end()) return std::nullopt;
    return found->second;
  }
  std::vector<queue::ConsumerOffset> all_committed() const override {
    std::vector<queue::ConsumerOffset> all;
    for (const auto& [name, offset] : consumers) all.push_back(offset);
    return all;
  }
  Task<Result<void>> forget_consumer(std::string consumer) override {
    consumers.erase(consumer);
    co_return Result<void>();
  }
  Task<Result<queue::Offset>> trim(queue::Offset offset) override { co_return offset; }
  queue::PartitionInfo info() const override { return state; }
  void configure(queue::PartitionConfig with) override { config = std::move(with); }
  std::uint64_t watch(Callback) override { return 1; }
  void unwatch(std::uint64_t) override {}
  bool stopped() const override { return over; }
};

class FakeQueueTablets final : public QueueTablets {
 public:
  class Tablet;

  explicit FakeQueueTablets(Executor& executor) : executor_(&executor) {}

  Duration boot_time = 20ms;
  Duration add_time = 5ms;
  int boots_to_fail = 0;
  int adds_to_fail = 0;
  bool removals_fail = false;
  std::size_t boots = 0;
  std::size_t booting = 0;
  std::size_t booting_most = 0;
  std::map<TabletId, Tablet*> running;
  std::multiset<TabletId> removed;

  // After a restart of the node.
  void use(Executor& executor) { executor_ = &executor; }
  void end(TabletId id);

  Task<Result<std::unique_ptr<QueueTabletHandle>>> boot(
      TabletInfo info, std::vector<queue::PartitionSetup> partitions) override;
  Task<Result<void>> remove(TabletInfo info) override {
    co_await sleep_for(*executor_, 10ms);
    if (removals_fail) co_return fail(Errc::kUnavailable, "a fake");
    INVARIANT(!running.contains(info.id), "tablet {} runs while it is deleted", info.id.value);
    removed.insert(info.id);
    co_return Result<void>();
  }

 private:
  friend class Tablet;
  Executor* executor_;
};

class FakeQueueTablets::Tablet final : public QueueTabletHandle {
 public:
  Tablet(FakeQueueTablets& fake, TabletInfo info, std::vector<queue::PartitionSetup> partitions)
      : fake_(fake), id_(info.id) {
    for (queue::PartitionSetup& setup : partitions) {
      partitions_[setup.index] = std::make_shared<FakePartition>(std::move(setup.config));
    }
    INVARIANT(fake_.running.emplace(id_, this).second, "tablet {} runs twice", id_.value);
  }
  ~Tablet() override { leave(); }

  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) override {
    const auto found = partitions_.find(index);
    return found == partitions_.end() ? nullptr : found->second;
  }
  HomePartition home(queue::PartitionIndex index) override {
    return {partition(index), fake_.executor_};
  }
  Task<Result<void>> add_partition(queue::PartitionSetup setup) override {
    co_await sleep_for(*fake_.executor_, fake_.add_time);
    if (fake_.adds_to_fail > 0 && fake_.adds_to_fail-- > 0) co_return fail(Errc::kIo, "a fake");
    partitions_[setup.index] = std::make_shared<FakePartition>(std::move(setup.config));
    co_return Result<void>();
  }
  Task<void> stop() override {
    co_await sleep_for(*fake_.executor_, 1ms);
    leave();
  }
  void abandon() override {}
  void on_end(Callback hook) override { hook_ = std::move(hook); }
  void end() {
    if (hook_) std::exchange(hook_, nullptr)();
  }

 private:
  void leave() {
    const auto found = fake_.running.find(id_);
    if (found != fake_.running.end() && found->second == this) fake_.running.erase(found);
  }

  FakeQueueTablets& fake_;
  const TabletId id_;
  std::map<queue::PartitionIndex, std::shared_ptr<FakePartition>> partitions_;
  Callback hook_;
};

inline void FakeQueueTablets::end(TabletId id) {
  running.at(id)->end();
}

inline Task<Result<std::unique_ptr<QueueTabletHandle>>> FakeQueueTablets::boot(
    TabletInfo info, std::vector<queue::PartitionSetup> partitions) {
  ++boots;
  booting_most = std::max(booting_most, ++booting);
  co_await sleep_for(*executor_, boot_time);
  --booting;
  if (removed.contains(info.id)) co_return fail(Errc::kNotFound, "the tablet was deleted");
  if (boots_to_fail > 0 && boots_to_fail-- > 0) co_return fail(Errc::kUnavailable, "a fake");
  co_return std::make_unique<Tablet>(*this, std::move(info), std::move(partitions));
}

}  // namespace moraine
