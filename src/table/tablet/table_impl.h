// The implementation of TableTablet.
//
// The steps of a write: checked -> locks taken -> its rows marked in the active memory store
// (promise()) -> commit timestamp drawn -> written to the log -> versions added, marks and locks
// released (apply()). Versions are added to the store in which the rows were promised, even if it
// was frozen meanwhile: it is not flushed before.
//
// Threading  The world's executor.
// Limits     kWaitersMax readers wait for rows.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/event.h"
#include "table/tablet/maintenance/maintenance.h"
#include "table/tablet/read/deleted_range.h"
#include "table/tablet/read/group_blob_reader.h"
#include "table/tablet/seeded_bug.h"
#include "table/tablet/state/table_state.h"
#include "table/tablet/table_tablet.h"
#include "table/tablet/tablet_memory.h"
#include "table/tablet/write/append_turn.h"

namespace moraine::table {

inline constexpr std::size_t kWaitersMax = 100'000;
inline constexpr Duration kTickPeriod = 500ms;
inline constexpr Duration kHunkGrace = 60s;  // Longer than a read may take.
// The log is cut at flushes, or when it is this long; at the latest at kTableLogBytesMax.
inline constexpr std::uint64_t kLongLogBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kTableLogBytesMax = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kSmallSnapshotBytes = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kLogPerSnapshot = 2;
// How long a write waits for the outcomes of conflicting transactions.
inline constexpr Duration kOutcomeWaitMax = 2s;
// How long a write to an ordered table waits for those before it; less than a coordinator waits.
inline constexpr Duration kTurnWaitMax = 8s;
inline constexpr std::size_t kMetaReadsMax = 16;  // Of chunks being opened, concurrently.

// Rows that a transaction is about to add to a memory store.
struct PromisedRows {
  StoreNumber store = 0;
  std::shared_ptr<MemoryStore> memory;
  PreparedMark mark;
  std::vector<MemoryStore::Row*> rows;  // By change; null: the change adds no version.
  std::uint64_t write = 0;              // Its number in the DeletedRange; 0: writes no row.
};

// A write to an ordered table: it has the turn to append, and its rows end at `end`.
struct Append {
  AppendTurn::Held turn;
  RowEnd end;
};

struct PreparedTransaction {
  explicit PreparedTransaction(Executor& executor) : step_ended(executor) {}

  std::shared_ptr<PrepareRecord> record;
  PromisedRows promised;
  Append append;          // Of an ordered table, until it has ended.
  Instant asked;          // When its coordinator was last asked, or when it was prepared.
  bool durable = false;   // Its prepare is in the log.
  bool deciding = false;  // Its outcome is being written.
  Event step_ended;       // Its prepare or its end, written or failed.
};

// The record of a one-phase commit whose changes are in so many parts.
Slice rows_record(StoreNumber store, Timestamp commit, const TabletWrite& write,
                  std::uint32_t parts);
// The options read the clock of `resources`, which outlives the reader.
ReaderOptions reader_options(const TableResources& resources, const MountConfig& mount);
// Lets no row of an ordered table expire; returns what was asked for.
RetentionConfig keep_rows(MountConfig& mount);

class TableTablet::Impl final : public StoreLog, public UndecidedRows {
 public:
  Impl(TableResources& resources, TabletInfo info, TabletSettings settings,
       TableTabletOptions options);
  ~Impl() override;

  // table_boot.cpp
  Task<Result<void>> boot();
  Task<void> end_failed_boot();

  // write/table_commit.cpp
  Task<Result<Timestamp>> commit(TabletWrite write);
  Task<Result<void>> wait_decided(std::string key, Timestamp timestamp, Instant deadline) override;

  // write/two_phase.cpp
  Task<Result<void>> prepare(TabletWrite write, TabletId coordinator);
  Task<Result<void>> commit_prepared(TransactionId id, Timestamp commit);
  Task<Result<void>> abort_prepared(TransactionId id);
  Task<Result<void>> confirm_lead() { return leader_->confirm_lead(); }

  // write/append.cpp
  Task<Result<void>> trim(std::uint64_t rows);

  // maintenance/store_log.cpp
  Task<Result<std::vector<BlobId>>> put_blobs(std::uint64_t build,
                                              std::vector<Slice> blobs) override;
  Task<Result<void>> drop_build(std::uint64_t build) override;
  Task<Result<void>> replace(Replace change, std::function<void()> confirmed) override;
  std::uint64_t next_chunk_id() override { return state_.next_chunk_id(); }
  void discard(const ChunkRecord& record) override;
  Timestamp needed_since() const override;
  bool space_is_short() const override { return leader_->colour() >= kColourToStop; }

  // table_lifecycle.cpp
  Result<void> remount(MountConfig mount, std::optional<ChunkWriteOptions> chunks);
  Task<Result<void>> freeze();
  void unfreeze() {
    frozen_ = false;
    writes_changed_.notify_all();
  }
  Task<Result<void>> flush();
  Task<Result<void>> write_static(std::shared_ptr<const StaticRows> rows, StaticWrite how);
  Task<Result<void>> write_static(StaticBatches rows, StaticWrite how);
  Task<void> stop();
  void abandon();
  Timestamp unflushed() const;
  Flushed flushed() const { return {unflushed(), state_.retained()}; }
  RowEnd trimmed() const { return state_.trimmed(); }
  std::vector<ChunkRecord> chunk_records() const;
  std::vector<TabletId> borrowed_from() const;
  std::vector<std::string> split_keys(std::size_t parts) const;
  TabletStatistics statistics() const;

  TabletReader& reader() { return *reader_; }
  RowCache& row_cache() { return cache_; }
  ReadStatistics& read_statistics() { return read_statistics_; }
  const TabletSettings& settings() const { return settings_; }
  const TabletInfo& info() const { return info_; }
  Maintenance& maintenance() { return *maintenance_; }
  Task<void> collect_now() { return leader_->collect_now(); }
  void on_end(Callback hook) {
    if (leader_->ended()) return hook();
    on_end_ = std::move(hook);
  }
  Executor& executor() const { return resources_.world.executor; }

 private:
  struct Retired {
    std::weak_ptr<ChunkReader> reader;
    ChunkRecord record;
    bool lost_rows = false;  // Rows of it have expired, and are in no chunk any more.
  };
  struct OpenedChunk {
    ChunkRecord record;
    Result<std::shared_ptr<ChunkReader>> reader = nullptr;
  };

  void write_ended() {
    if (--in_flight_ == 0) writes_changed_.notify_all();
  }

  // table_boot.cpp
  Result<void> check_settings() const;
  Task<Result<void>> adopt_chunks();
  Task<Result<void>> open_chunks();
  Task<void> open_chunk(OpenedChunk& chunk, Semaphore& turns);
  Result<void> restore_prepared();

  // write/table_commit.cpp
  Result<void> may_write() const;
  Task<Result<void>> check_space(std::span<const RowChange> changes);
  Result<void> check_schema(const TabletWrite& write);
  Result<void> check_write(const TabletWrite& write) const;
  Result<void> check_row_sizes(std::span<const RowChange> changes);
  void compact_large_row(const StoreSet::RowBytes& row);
  void drop_locks(TabletWrite& write) const;  // For seeded bugs.
  Result<void> acquire(const TransactionId& id, Timestamp start,
                       std::span<const RowChange> changes);
  PromisedRows promise(OpenMemoryStore& open, std::span<const RowChange> changes,
                       PreparedMark mark) const;
  PromisedRows promise(std::span<const RowChange> changes, Timestamp start, bool two_phase);
  void apply(PromisedRows& promised, const TransactionId& id, std::span<const RowChange> changes,
             Timestamp commit);
  void roll_back(PromisedRows& promised, const TransactionId& id,
                 std::span<const RowChange> changes);
  void release(PromisedRows& promised);
  Task<Result<Timestamp>> commit_promised(PromisedRows& promised, TabletWrite& write,
                                          Append* append);
  void rotate_if_due();
  Task<Result<void>> log(Slice body, Leader::Confirmed confirmed);
  Task<void> log_unawaited(Slice body);
  // write/long_write.cpp
  Task<Result<std::uint32_t>> log_parts(StoreNumber store, const TransactionId& id,
                                        std::span<const RowChange> changes);
  Task<Result<void>> log_part(StoreNumber store, const TransactionId& id, std::uint32_t number,
                              ByteSpan bytes);
  bool undecided(const std::string& key, Timestamp timestamp);
  void wake_readers(std::span<const RowChange> changes);
  void wake_all_readers();

  // write/two_phase.cpp
  std::optional<Result<void>> known_outcome(const TransactionId& id, bool wants_commit) const;
  // Takes the changes if it returns OK.
  Result<std::shared_ptr<PreparedTransaction>> begin_prepare(TabletWrite& write,
                                                             TabletId coordinator, Append& append);
  Task<Result<void>> log_prepare(std::shared_ptr<PreparedTransaction> transaction);
  Task<void> log_prepare_unawaited(std::shared_ptr<PreparedTransaction> transaction);
  Task<void> follow(std::shared_ptr<PreparedTransaction> transaction);
  void notify_step_ended(PreparedTransaction& transaction);
  Task<Result<void>> decide(std::shared_ptr<PreparedTransaction> transaction, Timestamp commit);
  void ask_coordinators();
  Task<void> ask(TransactionId id, TabletId coordinator);

  // write/append.cpp
  bool ordered() const { return filled_.has_value(); }
  Task<Result<Timestamp>> append(TabletWrite write);
  Task<Result<Append>> begin_append(Instant deadline);
  Result<void> check_append(const TabletWrite& write) const;
  Result<void> check_append_now(const TabletWrite& write);
  void restore_end();
  Task<Result<void>> load_end();
  Task<Result<std::uint64_t>> weight_at(std::uint64_t row);
  void apply_trimmed();
  void trim_expired();
  Task<void> trim_to(std::uint64_t rows);

  // write/outcome_wait.cpp
  std::shared_ptr<PreparedTransaction> blocking_transaction(const TabletWrite& write);
  Task<bool> fetch_outcome(std::shared_ptr<PreparedTransaction> other);
  Task<Result<void>> acquire_later(const TabletWrite& write, Error conflict);

  // maintenance/store_log.cpp
  Task<Result<std::uint32_t>> stage(std::uint64_t build, std::vector<ChunkRecord>& added);
  void snapshot_if_due(std::uint64_t log_bytes_min);
  void poll_retired();
  void discard_unread(const Retired& chunk, Instant now);
  void empty_row_cache();
  void add_reads(TabletStatistics& all) const;

  // table_lifecycle.cpp
  Task<void> tick_loop();
  void tick();
  void expire_history();
  bool flush_for_node();
  Task<void> poll_free_space();
  void ended();
  Result<void> begin_static();
  Result<void> end_static(Result<void> written);
  Task<Result<Timestamp>> mark_static();
  Task<Result<void>> write_marked(std::shared_ptr<const StaticRows> rows, StaticWrite how);
  Task<Result<void>> write_batches(StaticBatches rows, StaticWrite how);

  TableResources& resources_;
  const TabletInfo info_;
  TabletSettings settings_;
  std::shared_ptr<const TableSchema> writers_schema_;  // Equal to that of the settings.
  std::uint64_t schema_fingerprint_ = 0;               // Of that schema. 0: not needed yet.
  const TableTabletOptions options_;
  ReadStatistics read_statistics_;
  GroupBlobReader blobs_;
  RowCache cache_;
  TableState state_;
  std::unique_ptr<StoreSet> stores_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<TabletReader> reader_;
  std::unique_ptr<TabletMemory> memory_;
  const std::shared_ptr<DeletedRange> deleted_range_ = std::make_shared<DeletedRange>();

  // Of an ordered table.
  std::optional<FilledColumns> filled_;
  std::uint64_t tablet_index_ = 0;
  AppendTurn append_turn_{resources_.world.executor};
  RowEnd end_;                // Of the rows that are in the log, or in its queue.
  bool end_loaded_ = false;   // The weight of `end_` is known.
  RetentionConfig trims_by_;  // Rows that this lets expire are trimmed.
  bool trimming_ = false;

  std::map<TransactionId, std::shared_ptr<PreparedTransaction>> prepared_;
  std::unordered_map<std::string, std::shared_ptr<Event>> waiting_;  // Readers, by key.
  std::size_t waiting_readers_ = 0;
  std::vector<Retired> retired_;  // Chunks that were replaced and may still be read.
  std::deque<std::pair<Instant, BlobId>> hunks_to_discard_;  // When to discard them; oldest first.
  // Other tablets whose hunks are no longer referred to.
  std::map<TabletId, Instant> borrowed_until_;
  Instant next_large_row_compaction_;                // Earliest time of the next one.
  std::size_t in_flight_ = 0;                        // Writes in progress.
  std::size_t long_writes_ = 0;                      // Those that are being written in parts.
  Event writes_changed_{resources_.world.executor};  // In flight, prepared, or frozen_.
  bool frozen_ = false;
  bool writing_static_ = false;
  bool stopping_ = false;
  std::uint64_t commits_ = 0;
  std::uint64_t conflicts_ = 0;
  Callback on_end_;
  TaskScope scope_;
};

}  // namespace moraine::table
