// Maintenance: flushes memory stores to chunks and compacts chunks, in the background.
//
// Promise    Nothing is lost or seen twice at any time: stores are replaced in one commit, and
//            readers continue with the stores they hold. Failures are retried after a pause and
//            shown in the statistics; reads and compactions of other chunks continue.
// Threading  The tablet's executor; merging and packing on the background one.
// Limits     One flush and one compaction at a time; kBuildBytesInFlightMax bytes of finished blobs
//            for each.
// Tests      maintenance_test.cpp, flush_test.cpp, compaction_test.cpp, tablet_retention_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "table/model/static_rows.h"
#include "table/tablet/maintenance/compaction_plan.h"
#include "table/tablet/store_set.h"
#include "table/tablet/table_tablet.h"

namespace moraine::table {

inline constexpr std::uint64_t kBuildBytesInFlightMax = std::uint64_t{1} << 20;

// How maintenance changes the durable state: through the tablet's log. Implemented by the write
// side.
class StoreLog {
 public:
  virtual ~StoreLog() = default;
  // Makes the blobs of a chunk that is being built durable. They are garbage after a restart, or
  // once drop_build() was called, unless replace() has named them.
  virtual Task<Result<std::vector<BlobId>>> put_blobs(std::uint64_t build,
                                                      std::vector<Slice> blobs) = 0;
  virtual Task<Result<void>> drop_build(std::uint64_t build) = 0;
  // One durable change: removes memory stores and chunks, adds chunks (with their partition
  // pivots). The caller changes the StoreSet in `confirmed`, in the same turn.
  struct Replace {
    std::uint64_t build = 0;
    std::vector<StoreNumber> flushed;
    std::vector<std::uint64_t> removed;
    std::vector<ChunkRecord> added;
    std::vector<std::uint64_t> added_to_eden;  // Ids among `added`.
    std::optional<std::vector<std::string>> pivots;
    Timestamp retained_timestamp = 0;
    bool loses_rows = false;  // Expired rows: the row cache may have them.
    // Other rows take the place of all that there were; without new chunks, none do.
    bool replaces_rows = false;
  };
  virtual Task<Result<void>> replace(Replace change, std::function<void()> confirmed) = 0;
  virtual std::uint64_t next_chunk_id() = 0;
  // Discards the blobs of removed chunks that no reader holds any more.
  virtual void discard(const ChunkRecord& record) = 0;
  // The lowest timestamp that reads may still use although retention would allow to drop it
  // (prepared transactions, reads in progress).
  virtual Timestamp needed_since() const = 0;
  // True: only small merges are run.
  virtual bool space_is_short() const { return false; }
};

// Where chunks of a tablet cache their blocks.
ChunkCaches caches_of(const TableResources& resources, const TabletSettings& settings);

class Maintenance {
 public:
  Maintenance(TableResources& resources, TabletSettings& settings, StoreSet& stores, StoreLog& log,
              RowCache& cache, BlobReader& blobs, ReadStatistics& statistics);
  ~Maintenance();

  void start();
  // Something changed: a store was frozen, options were changed.
  void wake();
  Task<Result<void>> flush_all();  // Every frozen store, and the active one if it has rows.
  Task<Result<void>> compact_all();
  // Compacts these chunks with retention as soon as possible, unless compaction is disabled.
  void compact_soon(const std::vector<std::uint64_t>& chunks);
  // The first rows of an ordered table were removed: chunks that have no others are dropped.
  void trimmed();
  // As TableTablet::write_static.
  Task<Result<void>> write_static(std::shared_ptr<const StaticRows> rows, Timestamp timestamp,
                                  StaticWrite how);
  // The same for batches. `begin` is called when all of them are in chunks, and returns the
  // timestamp from which on readers see them: the retained timestamp then.
  using BeginInstall = std::function<Task<Result<Timestamp>>()>;
  Task<Result<void>> write_static(StaticBatches rows, Timestamp timestamp, StaticWrite how,
                                  BeginInstall begin);
  Task<void> settle();
  void add_statistics(TabletStatistics& statistics) const;
  // Stops background work, between two blobs at the latest, and waits for it.
  Task<void> stop();
  // Asks background work to stop, without waiting for it.
  void abandon();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine::table
