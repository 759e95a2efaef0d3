// QueueTablet: a key-value tablet and the partitions that it keeps.
//
// Promise    boot() makes this incarnation the one that may write, with every partition as it was
//            acknowledged.
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

  // Null when it is not one of this tablet.
  std::shared_ptr<Partition> partition(PartitionIndex index);
  // A new partition; one that is there already gets the config.
  Task<Result<void>> add_partition(PartitionSetup setup);

  // Ends cleanly. Partitions that somebody still holds answer "stopped".
  Task<void> stop();
  // What a power cut leaves time for.
  void abandon();
  // Called once, when it ends by itself: another incarnation has taken over, or storage failed.
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
  Semaphore adding_{1};
  Callback on_end_;
};

}  // namespace moraine::queue
