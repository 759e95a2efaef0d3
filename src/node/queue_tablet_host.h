// QueueTabletHost: keeps one tablet of a topic running, with the partitions and the config that the
// topic has now.
//
// Promise    As TabletHost. set() reaches the running partitions at once and every later
//            incarnation; new partitions are added one after the other.
// Threading  The control lane. Held by shared_ptr; a caller keeps one while it awaits a call.
// Tests      stored_topics_test.cpp.
#pragma once

#include <memory>

#include "node/queue_tablets.h"
#include "node/tablet_host.h"

namespace moraine {

class QueueTabletHost {
 public:
  // `boots` bounds how many tablets boot concurrently; it and `tablets` outlive the host. `changed`
  // may be absent: it is called after a change of what home() or boot_error() return.
  QueueTabletHost(Executor& executor, QueueTablets& tablets, Semaphore& boots, TabletInfo info,
                  std::uint32_t partitions, queue::PartitionConfig config,
                  std::function<void()> changed = {}, Placement* placement = nullptr);

  void start() { host_.start(); }
  // Requires: no fewer partitions than before.
  void set(std::uint32_t partitions, queue::PartitionConfig config);

  const TabletInfo& info() const { return info_; }
  bool running() const { return host_.get() != nullptr; }
  // Why the last boot failed. nullopt: it runs, or was not booted yet.
  const std::optional<Error>& boot_error() const { return host_.boot_error(); }
  // Waits until all its partitions run. False: the deadline has passed, or the host was stopped.
  Task<bool> wait_running(Instant deadline);
  // Null while the tablet is not running.
  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) const;
  // Those that run, on their own lane.
  std::vector<HomePartition> homes() const;

  // Called once.
  Task<void> stop();
  void abandon();

 private:
  Task<Result<std::unique_ptr<QueueTabletHandle>>> boot();
  void apply(const std::shared_ptr<QueueTabletHandle>& tablet);
  Task<void> grow(std::shared_ptr<QueueTabletHandle> tablet);
  Task<void> finish_growing();

  Executor& executor_;
  QueueTablets& tablets_;
  Semaphore& boots_;
  const TabletInfo info_;
  std::uint32_t partitions_;
  queue::PartitionConfig config_;
  const std::function<void()> changed_;
  std::uint32_t given_ = 0;  // The number of partitions of this incarnation.
  TaskScope growth_;
  Event grown_{executor_};
  TabletHost<QueueTabletHandle> host_;
};

}  // namespace moraine
