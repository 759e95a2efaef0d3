// QueueTablets: boots and deletes tablets of partitions; RunningTablet is one that runs.
//
// Promise    boot() returns a leading tablet with the named partitions; remove() ends when no
//            incarnation can start any more and the blobs are being deleted.
// Threading  StoredQueueTablets and its handles: the world's executor. LaneQueueTablets, which uses
//            one for each lane: the control lane.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "client/lane_partition.h"
#include "io/executor.h"
#include "io/task.h"
#include "queue/queue_tablet.h"
#include "tablet/tablet_info.h"

namespace moraine {

class QueueTabletHandle {
 public:
  virtual ~QueueTabletHandle() = default;
  // For callers on the node's control lane. Null: not of this tablet.
  virtual std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) = 0;
  // The partition on its own lane.
  virtual HomePartition home(queue::PartitionIndex index) = 0;
  // Requires: no other partition is being added, and stop() was not called.
  virtual Task<Result<void>> add_partition(queue::PartitionSetup setup) = 0;
  virtual Task<void> stop() = 0;
  virtual void abandon() = 0;
  // Called once, when it ends by itself.
  virtual void on_end(Callback hook) = 0;
};

class QueueTablets {
 public:
  virtual ~QueueTablets() = default;
  virtual Task<Result<std::unique_ptr<QueueTabletHandle>>> boot(
      TabletInfo info, std::vector<queue::PartitionSetup> partitions) = 0;
  // May be called again after any outcome.
  virtual Task<Result<void>> remove(TabletInfo info) = 0;
};

// The tablets of queue/, in the groups of this node.
class StoredQueueTablets final : public QueueTablets {
 public:
  // `groups` and `cache` outlive the object and its tablets. `facts` of the node; null: no limits.
  StoredQueueTablets(World world, BlobGroups& groups, queue::BlobCache& cache,
                     LeaderOptions options = {}, std::shared_ptr<queue::FactCounts> facts = nullptr)
      : world_(world),
        groups_(groups),
        cache_(cache),
        options_(options),
        facts_(std::move(facts)) {}

  Task<Result<std::unique_ptr<QueueTabletHandle>>> boot(
      TabletInfo info, std::vector<queue::PartitionSetup> partitions) override;
  Task<Result<void>> remove(TabletInfo info) override;

 private:
  World world_;
  BlobGroups& groups_;
  queue::BlobCache& cache_;
  const LeaderOptions options_;
  const std::shared_ptr<queue::FactCounts> facts_;
};

}  // namespace moraine
