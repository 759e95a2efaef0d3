// TabletView: all stores of a tablet at one moment, for readers.
//
// Promise    Immutable. What was committed before a view was obtained is in its stores; memory
//            stores continue to grow.
// Threading  ViewHolder::get() on any thread under an EpochGuard; hold() on any thread. publish()
//            on the tablet's.
// Tests      store_set_test.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/epoch.h"
#include "table/chunk/chunk_reader.h"
#include "table/memory/memory_store.h"
#include "table/tablet/damaged_chunk.h"

namespace moraine::table {

struct PartitionView {
  std::string from;  // Empty for the first one. It ends where the next begins.
  std::vector<std::shared_ptr<ChunkReader>> chunks;  // Newest first.
};

struct TabletView : std::enable_shared_from_this<TabletView> {
  std::shared_ptr<const TableSchema> schema;
  bool has_any = false;  // There are columns of type any.
  KeyBounds bounds;
  std::uint64_t flush_revision = 0;                  // Grows with every flush (cache/row_cache.h).
  std::vector<std::shared_ptr<MemoryStore>> memory;  // The active one first, then newest first.
  std::vector<std::shared_ptr<ChunkReader>> eden;    // Of any key; newest first.
  std::vector<PartitionView> partitions;             // By key; at least one.
  std::vector<DamagedChunk> damaged;                 // Not among the others.
  Timestamp retained_timestamp = kMinTimestamp;      // Older versions may have been dropped.
  // Set while rows of a static table are being written; readers wait as for a row's mark.
  PreparedMark append;
  bool trimmed = false;  // Rows below the bounds are gone, although stores may have them.

  const PartitionView& partition_of(ByteSpan key) const;
};

class ViewHolder {
 public:
  explicit ViewHolder(std::shared_ptr<const TabletView> first);
  ~ViewHolder();

  // Requires: an EpochGuard that outlives the use.
  const TabletView& get() const { return *published_.load(std::memory_order_acquire); }
  std::shared_ptr<const TabletView> hold() const;
  void publish(std::shared_ptr<const TabletView> next);

 private:
  std::shared_ptr<const TabletView> owned_;  // The newest; older ones are retired.
  std::atomic<const TabletView*> published_;
};

}  // namespace moraine::table
