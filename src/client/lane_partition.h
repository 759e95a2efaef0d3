// LanePartition: a partition of another lane of this node.
//
// Promise    As Partition: every call is made on the partition's own lane and answered on the
//            caller's, except those that any thread may make. Writes of one caller keep the order
//            of their calls. Watches of this lane share one on the home lane, which posts here only
//            while there are any, and once for all moves until that has run.
// Threading  `lane`; what Partition allows on any thread, on any thread.
// Limits     Those of the partition: a write that it refuses was carried there and back.
// Tests      node/lanes_test.cpp.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "queue/partition.h"

namespace moraine {

// A partition and the executor that it is used on.
struct HomePartition {
  std::shared_ptr<queue::Partition> partition;
  Executor* home = nullptr;

  // For callers on `lane`: the partition itself when that is its home.
  std::shared_ptr<queue::Partition> for_lane(Executor& lane) const;
};

class LanePartition final : public queue::Partition,
                            public std::enable_shared_from_this<LanePartition> {
 public:
  // `home` and `lane` outlive every call.
  LanePartition(std::shared_ptr<queue::Partition> partition, Executor& home, Executor& lane)
      : partition_(std::move(partition)), home_(home), lane_(lane) {}
  LanePartition(const LanePartition&) = delete;
  LanePartition& operator=(const LanePartition&) = delete;
  ~LanePartition() override;

  std::shared_ptr<OneShot<queue::WriteAnswer>> write(queue::WriteRequest request) override;
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest request) override;
  std::optional<queue::ReadAnswer> read_cached(const queue::ReadRequest& request) override {
    return partition_->read_cached(request);
  }
  void read_ahead(queue::Offset offset, std::size_t bytes) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_time(std::int64_t time_ms) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_time_from(queue::Offset from,
                                                                 std::int64_t time_ms) override;
  Task<Result<std::optional<queue::StoredEntry>>> find_newest() override;
  Task<Result<void>> commit(queue::ConsumerOffset offset) override;
  std::optional<queue::ConsumerOffset> committed(const std::string& consumer) const override {
    return partition_->committed(consumer);
  }
  std::vector<queue::ConsumerOffset> all_committed() const override {
    return partition_->all_committed();
  }
  std::vector<queue::ConsumerOffset> committed_after(const std::string& name,
                                                     std::size_t limit) const override {
    return partition_->committed_after(name, limit);
  }
  Task<Result<void>> forget_consumer(std::string consumer) override;
  Task<Result<queue::Offset>> trim(queue::Offset offset) override;
  queue::PartitionInfo info() const override { return partition_->info(); }
  void configure(queue::PartitionConfig config) override;
  std::uint64_t watch(Callback moved) override;
  void unwatch(std::uint64_t watch) override;
  bool stopped() const override { return partition_->stopped(); }

 private:
  struct Watch {
    Callback callback;
    bool active = true;  // False after unwatch().
  };
  // The watches of this lane.
  struct Watches {
    std::map<std::uint64_t, std::shared_ptr<Watch>> by_id;
    std::uint64_t next = 1;
    void notify();
  };
  // What both lanes know of the shared watch.
  struct HomeWatch {
    std::uint64_t id = 0;             // Used on the home lane.
    std::atomic<bool> wanted{false};  // This lane has watches.
    std::atomic<bool> posted{false};  // A notification is pending on this lane.
  };

  static Task<void> answer(std::shared_ptr<OneShot<queue::WriteAnswer>> answered, Executor& lane,
                           std::shared_ptr<OneShot<queue::WriteAnswer>> done);
  static Task<void> commit_later(std::shared_ptr<queue::Partition> partition,
                                 queue::ConsumerOffset offset);
  const std::shared_ptr<queue::Partition> partition_;
  Executor& home_;
  Executor& lane_;
  const std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
  std::shared_ptr<HomeWatch> home_watch_;  // Null until the first watch.
};

}  // namespace moraine
