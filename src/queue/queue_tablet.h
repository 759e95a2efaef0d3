// QueueTablet: a key-value tablet and the partitions that it stores.
//
// Promise    After boot() only this incarnation may write, and every partition has all acknowledged
//            writes.
// Threading  The world's executor.
// Errors     Those of KeyValue::boot(); kCorrupt names what is damaged.
// Tests      queue_tablet_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "queue/stored_partition.h"

namespace moraine::queue {

class QueueTablet {
 public:
  static Task<Result<std::unique_ptr<QueueTablet>>> boot(World world, BlobGroups& groups,
                                                         TabletInfo info, BlobCache& cache,
                                                         std::vector<PartitionSetup> partitions,
                                                         LeaderOptions options = {});
  QueueTablet(const QueueTablet&) = delete;
  QueueTablet& operator=(const QueueTablet&) = delete;

  // Null when the partition is not of this tablet.
  std::shared_ptr<Partition> partition(PartitionIndex index);
  // Adds a partition; an existing one gets the config.
  Task<Result<void>> add_partition(PartitionSetup setup);

  // Stops cleanly. Calls on partitions that are still referenced fail with "stopped".
  Task<void> stop();
  // Stops without waiting, as at a power cut.
  void abandon();
  // Called once, when the tablet ends by itself: fenced by another incarnation, or storage failed.
  void on_end(Callback hook) { on_end_ = std::move(hook); }

  const KeyValue& store() const { return *store_; }

 private:
  using Partitions = std::map<PartitionIndex, std::shared_ptr<StoredPartition>>;

  QueueTablet(World world, BlobCache& cache) : world_(world), cache_(cache) {}
  Task<Result<void>> add_one(PartitionSetup setup);
  Task<Result<std::shared_ptr<StoredPartition>>> load(PartitionSetup setup);
  Task<void> note_created(Partitions loaded);

  World world_;
  BlobCache& cache_;
  std::unique_ptr<KeyValue> store_;
  Partitions partitions_;
  Semaphore adding_{world_.executor, 1};
  Callback on_end_;
};

}  // namespace moraine::queue
