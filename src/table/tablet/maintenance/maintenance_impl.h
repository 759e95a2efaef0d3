// Maintenance::Impl: a loop that flushes, one that compacts, one that loads chunks into memory, and
// calls that wait for them.
//
// Invariants (1) Only install() changes chunks, by one durable replace. (2) A removed chunk is kept
//            open in retired_chunks_ until no reader holds it; then its blobs are discarded.
// Threading  The tablet's executor.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/background_work.h"
#include "io/event.h"
#include "table/tablet/maintenance/chunk_build.h"
#include "table/tablet/maintenance/dead_space.h"
#include "table/tablet/maintenance/failed_jobs.h"
#include "table/tablet/maintenance/maintenance.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::table {

inline constexpr Duration kMaintenancePause = 1s;      // After a failure.
inline constexpr Duration kMaintenancePauseMax = 30s;  // After many.
inline constexpr Duration kUnreadyStorePause = 5ms;    // A store waits for its transactions.
inline constexpr Duration kGraveyardPause = 100ms;
inline constexpr Duration kIdleAfter = 5s;  // Without a write.
// Largest job when space is short.
inline constexpr std::uint64_t kShortSpaceJobBytes = std::uint64_t{32} << 20;
inline constexpr Duration kPlanPeriodMin = 10ms;
inline constexpr Duration kPlanPeriodMax = 60s;  // When time alone may cause work.
// Revisions from here on are times, in milliseconds since 1970, before which chunks must be
// rewritten.
inline constexpr std::uint64_t kFirstTimeRevision = 1'000'000'000'000;

class Maintenance::Impl {
 public:
  Impl(TableResources& resources, TabletSettings& settings, StoreSet& stores, StoreLog& log,
       RowCache& cache, BlobReader& blobs, ReadStatistics& statistics);

  // maintenance.cpp
  void start();
  void wake();
  Task<Result<void>> flush_all();
  Task<Result<void>> compact_all();
  void compact_soon(const std::vector<std::uint64_t>& chunks);
  void trimmed();
  Task<Result<void>> write_static(std::shared_ptr<const StaticRows> rows, Timestamp timestamp,
                                  StaticWrite how);
  Task<Result<void>> write_static(StaticBatches rows, Timestamp timestamp, StaticWrite how,
                                  BeginInstall begin);
  Task<void> settle();
  void add_statistics(TabletStatistics& statistics) const;
  Task<void> stop();
  void abandon();

 private:
  using Readers = std::vector<std::shared_ptr<ChunkReader>>;
  struct Failure {
    std::uint64_t count = 0;
    std::uint64_t in_a_row = 0;
    std::optional<Error> last;
  };

  // maintenance.cpp
  Task<void> flush_loop();
  Task<void> compact_loop();
  Instant now() const { return resources_.world.executor.now(); }
  std::uint64_t now_ms() const;
  void note(Failure& failure, const Result<void>& done, std::string_view what);
  Instant after_failure(const Failure& failure) const;
  void note_writes();

  // flush.cpp
  void rotate_if_due();
  OpenMemoryStore* oldest_frozen();
  bool ready(const OpenMemoryStore& store) const;
  bool flush_due();
  Instant next_flush_look();
  Task<Result<void>> flush(StoreNumber number);
  Task<void> update_cached_rows(std::shared_ptr<MemoryStore> store);
  struct StaticEnd {
    std::uint64_t rows = 0;
    std::string last;
  };
  struct BuiltStatic {
    StoreLog::Replace change;
    std::vector<BuiltChunk> chunks;
  };
  StaticEnd static_end() const;
  Result<StaticEnd> begin_static(StaticWrite how) const;
  Task<Result<BuiltStatic>> build_static(std::unique_ptr<RowCursor> rows);
  Task<Result<void>> install_static(BuiltStatic built, StaticWrite how);

  // install.cpp
  BuildPlaces places(Urgency urgency);
  BuildSpec new_build() const;
  Task<Result<void>> install(StoreLog::Replace change, std::vector<BuiltChunk> built);
  Task<Result<Readers>> open(std::vector<BuiltChunk> built);
  Task<void> abandon_build(std::uint64_t build);
  void retire(Readers readers);
  void sweep_retired();
  bool is_used(const BlobId& hunks) const;
  void update_row_cache();

  // preload.cpp
  Task<Result<void>> preload(std::shared_ptr<ChunkReader> reader);
  Task<void> preload_new(std::shared_ptr<ChunkReader> reader);
  Task<Result<void>> preload_missing();
  Task<void> preload_loop();
  void note_preload(const Result<void>& done);
  void forget_preload(std::uint64_t chunk);
  void add_preload_statistics(TabletStatistics& statistics) const;

  // compaction.cpp: the plan
  struct Plan {
    std::optional<CompactionJob> job;
    std::uint64_t next_ms = 0;  // 0: never.
  };
  Task<Plan> plan();
  std::optional<CompactionJob> trimmed_chunks(const TabletView& view) const;
  KeyBounds kept_rows() const;
  Task<DeadSpaceReport> find_dead(std::shared_ptr<const TabletView> view);
  PlanInput plan_input(const TabletView& view, const DeadSpaceReport& dead) const;
  static std::uint64_t output_bytes(const CompactionJob& job, const PlanInput& input);
  PlannedChunk planned(const std::shared_ptr<ChunkReader>& reader, const DeadSpace& space) const;
  DeadSpaceInput dead_space_input(const TabletView& view);
  std::set<BlobId> garbage_hunks() const;
  void note_revision(bool starting);

  // compaction.cpp: the job
  Task<Result<void>> compact(CompactionJob job);
  Task<Result<void>> change_pivots(CompactionJob job);
  Task<Result<void>> rewrite(CompactionJob job);
  Task<Result<BuildOutcome>> merge(const Readers& chosen, BuildSpec spec, std::size_t& unread);
  Task<void> exclude_damaged(Readers chosen, Error error);
  BuildSpec rewrite_spec(const CompactionJob& job, const Readers& chosen);
  // For a merge of chunks, or for a flush.
  std::vector<OutsideStore> outside(const Readers& chosen, const MemoryStore* flushed,
                                    Timestamp newest);
  Timestamp horizon(Timestamp newest) const;
  std::uint64_t needed_ms() const;
  std::uint64_t retention_applied_ms() const;
  RetentionScope scope(Timestamp newest) const;
  std::vector<std::string> split_pivots(const CompactionJob& job, const Readers& chosen) const;
  std::vector<std::string> with_pivots(std::vector<std::string> more) const;
  bool pivots_fit(const std::vector<std::string>& pivots) const;
  std::uint64_t partition_bytes(std::size_t partition) const;
  std::vector<std::uint64_t> with_refused_row(const std::vector<std::uint64_t>& chunks) const;

  TableResources& resources_;
  TabletSettings& settings_;
  StoreSet& stores_;
  StoreLog& log_;
  RowCache& cache_;
  BlobReader& blobs_;
  ReadStatistics& statistics_;

  std::atomic<bool> stopping_{false};
  mutable std::uint64_t builds_ = 0;
  const std::uint64_t key_seed_;  // Of the chunks built here.
  Readers retired_chunks_;
  KeysInCommon in_common_;                              // For the plan that is being made.
  std::map<std::uint64_t, std::uint64_t> retained_ms_;  // By chunk: when retention was applied.
  std::set<std::uint64_t> forced_;                      // Chunks.
  std::map<std::uint64_t, Error> excluded_;             // Chunks in which a merge has found damage.
  FailedJobs failed_jobs_;
  std::string refused_key_;     // From the last failed job: a row that no chunk can hold, or empty.
  std::uint64_t revision_ = 0;  // Last seen forced_compaction_revision.
  std::map<std::string, std::uint64_t> unsplittable_;  // Partitions by `from`, their bytes then.

  std::uint64_t forced_ms_ = 0;  // Last seen forced_compaction_ms.

  bool flushing_ = false;
  bool compacting_ = false;
  bool replacing_ = false;  // All rows of a static table; no compaction begins.
  std::size_t settling_ = 0;
  std::size_t flush_calls_ = 0;
  std::uint64_t changes_ = 0;  // Grows when there may be something to compact.
  // Value of changes_ when there was nothing to compact, even for an idle table.
  std::uint64_t quiet_changes_ = 0;
  Instant last_write_;                              // As of the last check.
  std::pair<StoreNumber, std::size_t> seen_{0, 0};  // The active store and its bytes at that time.
  Failure flush_failure_;
  Failure compact_failure_;
  Failure preload_failure_;
  std::set<std::uint64_t> preloaded_;  // Chunks whose blocks are in memory.
  std::set<std::uint64_t> preload_failed_;
  Instant preload_after_;  // When those are retried.
  TabletStatistics counted_;
  Event turn_ended_{resources_.world.executor};
  Signal flush_wakes_{resources_.world.executor};
  Signal compact_wakes_{resources_.world.executor};
  Signal preload_wakes_{resources_.world.executor};
  TaskScope scope_;
};

}  // namespace moraine::table
