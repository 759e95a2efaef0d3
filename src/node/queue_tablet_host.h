// QueueTabletHost: keeps one tablet of a topic running, with the partitions and the config that the
// topic has now.
//
// Promise    As TabletHost. What set() was given reaches every later incarnation, and the running
//            one with configure(); new partitions are added one after the other.
// Threading  The control lane. Held by shared_ptr; a caller keeps one while it awaits a call.
// Tests      stored_topics_test.cpp.
#pragma once

#include <memory>

#include "node/boot_turns.h"
#include "node/queue_tablets.h"
#include "node/tablet_host.h"

namespace moraine {

class QueueTabletHost final : public ManagedTablet {
 public:
  // `turns` and `tablets` outlive the host. `changed` may be absent: it is called after a change of
  // what homes() or boot_error() return, or of the tablet's place.
  QueueTabletHost(Executor& executor, QueueTablets& tablets, BootTurns& turns, TabletInfo info,
                  std::uint32_t partitions, queue::PartitionConfig config,
                  std::function<void()> changed = {}, Placement* placement = nullptr);

  // Requires: no fewer partitions than before.
  void set(std::uint32_t partitions, queue::PartitionConfig config);
  // Null while the tablet is not running.
  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) const;
  // The partition on its own lane. Null while it is not running.
  HomePartition home(queue::PartitionIndex index) const;
  // Those that run, on their own lane.
  std::vector<HomePartition> homes() const;

  void start() override { host_.start(); }
  void configure() override { host_.configure(); }
  void note_moved() override { host_.note_moved(); }
  Task<void> stop() override;
  void abandon() override;
  // Waits until all its partitions run.
  Task<bool> wait_running(Instant deadline) override;
  bool running() const override { return host_.running(); }
  const std::optional<Error>& boot_error() const override { return host_.boot_error(); }

 private:
  Task<Result<std::unique_ptr<QueueTabletHandle>>> boot_in_turn();
  void apply(const std::shared_ptr<QueueTabletHandle>& tablet);
  Task<void> grow(std::shared_ptr<QueueTabletHandle> tablet);

  Executor& executor_;
  QueueTablets& tablets_;
  BootTurns& turns_;
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
