// TableTablet: one key range of a sorted table: a state machine of versioned rows.
//
// Promise    A write that returned OK is durable and visible to every read that begins later. A
//            write that failed with kAborted changed nothing. Two overlapping transactions that
//            conflict are never both committed (write/lock_table.h). A prepared transaction
//            survives any number of restarts, until it is finished with one outcome.
// Threading  executor(); reader() is for any thread.
// Limits     kRowsPerTransactionMax rows and kLongWriteBytesMax per write, kLongWritesMax of those
//            above kWriteBytesMax at once, others fail with kOverloaded; unflushed_bytes_max() in
//            memory, above which writes fail with kOverloaded until a flush is done, as they do
//            when all tablets of the node have TableResources::store_budget; kRowBytesMax of a
//            row's versions, above which writes to it fail with kOverloaded until some expire.
// Errors     kAborted: a conflict; the text names the row, the lock and the other transaction. Also
//            when the changes were encoded with another schema than the tablet's.
//            kReadOnly: frozen or stopping. kInvalidArgument. kOverloaded. kNoSpace: the disks are
//            nearly full. kConflict, kUnavailable: this incarnation is over. Each of them: nothing
//            was changed. kUnknownOutcome: the entry was being written when this incarnation ended.
// Ordered    A tablet whose schema is that of an ordered table (model/ordered.h) takes appends
//            only, numbers their rows in the order of commits (write/append.cpp), and can be
//            trimmed.
// Tests      table_tablet_test.cpp, table_tablet_crash_test.cpp, write/two_phase_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "table/cache/block_cache.h"
#include "table/cache/row_cache.h"
#include "table/memory/memory_budget.h"
#include "table/model/ordered.h"
#include "table/model/static_rows.h"
#include "table/tablet/read/tablet_reader.h"
#include "table/tablet/settings.h"
#include "table/tablet/transaction_id.h"
#include "tablet/leader.h"

namespace moraine::table {

// Of a write that goes to the log in parts (settings.h), of which kLongWritesMax run at once.
inline constexpr std::size_t kLongWriteBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kLongWritesMax = 2;

// Colour of the disks from which rows are rejected with kNoSpace.
inline constexpr blob::Colour kColourToStop = blob::Colour::kLightYellow;
// Below this colour deletes are accepted and chunks are written; the space above it is for the logs
// of tablets: transactions that only read, and removing tables.
inline constexpr blob::Colour kColourToKeepChunks = blob::Colour::kLightOrange;

enum class SeededBug : std::uint8_t;  // seeded_bug.h

// Shared by all tables of a node; must outlive the tablets.
struct TableResources {
  World world;
  BlobGroups& groups;
  TimestampSource& timestamps;
  Executor& background;  // For merging and packing; may be the world's own.
  BlockCache& blocks;
  BlockCache* compressed_blocks = nullptr;
  SlabMemory& row_cache_memory;
  MemoryBudget* store_budget = nullptr;    // Of unflushed rows. Null: no limit.
  MemoryBudget* history_budget = nullptr;  // Of lock history. Null: no limit.
  Executor* flushing = nullptr;            // As `background`, for flushes. Null: the same.
};

// The answer of a coordinator about a prepared transaction that was not finished for a while.
struct TransactionOutcome {
  enum class Kind : std::uint8_t { kCommitted, kAborted, kUndecided };
  Kind kind = Kind::kUndecided;
  Timestamp commit = 0;
};
using AskCoordinator =
    std::function<Task<Result<TransactionOutcome>>(TabletId coordinator, TransactionId id)>;

struct TableTabletOptions {
  LeaderOptions leader;
  AskCoordinator ask_coordinator;
  // Age at which a prepared transaction is asked about, and the period of asking.
  Duration ask_after = 5s;
  bool adopts = false;               // Takes over from other tablets at its first boot:
  std::vector<ChunkRecord> adopted;  // their chunks,
  Timestamp adopted_retained = 0;    // the newest of their retained timestamps,
  RowEnd adopted_trimmed{};          // and, of an ordered table, where their rows begin.
  std::vector<TabletInfo> others;    // Tablets whose blobs chunks of this one may refer to.
  bool frozen = false;               // Reads only.
};

// For a chunk shared with other tablets only its own part counts, as an estimate.
struct TabletStatistics {
  std::uint64_t unmerged_rows = 0;
  std::uint64_t chunks = 0;
  std::uint64_t eden_chunks = 0;
  std::uint64_t partitions = 0;
  std::uint64_t overlapping_stores = 0;
  std::uint64_t uncompressed_bytes = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t hunk_bytes = 0;
  std::uint64_t memory_bytes = 0;  // Of memory stores.
  // Replaced, but kept for earlier readers: chunks with their bytes on the disk, and bytes of
  // flushed memory stores.
  std::uint64_t replaced_chunks = 0;
  std::uint64_t replaced_bytes = 0;
  std::uint64_t replaced_memory_bytes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t compactions = 0;
  std::uint64_t compacted_bytes_in = 0;
  std::uint64_t compacted_bytes_out = 0;
  std::uint64_t chunks_dropped_unread = 0;
  std::uint64_t damaged_chunks = 0;  // Known ones.
  // Chunks of a tablet in memory (in_memory_mode): those that are loaded, those that are not yet,
  // and those that failed, which are read from the disk and retried.
  std::uint64_t preload_completed_chunks = 0;
  std::uint64_t preload_pending_chunks = 0;
  std::uint64_t preload_failed_chunks = 0;
  std::uint64_t preload_failures = 0;  // Attempts.
  std::string preload_error;           // Of the last attempt; empty: no failure.
  std::uint64_t commits = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t total_rows = 0;    // Of an ordered table: appended so far,
  std::uint64_t trimmed_rows = 0;  // and the first of them that were removed.
  // Keys of lookups, and rows of scans.
  std::uint64_t lookup_cache_hits = 0;
  std::uint64_t lookup_rows = 0;
  std::uint64_t lookup_missing_rows = 0;
  std::uint64_t lookup_data_weight = 0;
  std::uint64_t scan_rows = 0;
  std::uint64_t scan_data_weight = 0;
  Timestamp last_commit = 0;
  Timestamp retained = 0;
  Timestamp unflushed = 0;  // Everything below is in chunks.
  std::string error;        // Of a damaged chunk, or the last background failure; empty: none.
};

class TableTablet {
 public:
  static Task<Result<std::unique_ptr<TableTablet>>> boot(TableResources& resources, TabletInfo info,
                                                         TabletSettings settings,
                                                         TableTabletOptions options);
  ~TableTablet();

  // One-phase: returns the commit timestamp. With atomicity none there are no locks, and the last
  // writer wins.
  Task<Result<Timestamp>> commit(TabletWrite write);

  // Two-phase. All three are idempotent.
  Task<Result<void>> prepare(TabletWrite write, TabletId coordinator);
  Task<Result<void>> commit_prepared(TransactionId id, Timestamp commit);
  Task<Result<void>> abort_prepared(TransactionId id);

  // Of an ordered table: removes the rows before `rows`. kInvalidArgument: there are not so many.
  Task<Result<void>> trim(std::uint64_t rows);

  // OK: when this was called no other incarnation had begun: what was read before it is the newest
  // state, wherever else this tablet might run by now.
  Task<Result<void>> confirm_lead();

  // Where it runs; the same on any thread.
  Executor& executor() const;
  const TabletReader& reader() const;
  RowCache& row_cache();
  ReadStatistics& read_statistics();
  const TabletSettings& settings() const;
  // New mount options, effective immediately; `chunks`: how chunks are written from now on.
  Result<void> remount(MountConfig mount, std::optional<ChunkWriteOptions> chunks = std::nullopt);

  // Rejects further writes; returns when nothing is prepared and all rows are in chunks.
  Task<Result<void>> freeze();
  void unfreeze();
  // Freezes the active store and flushes all that is in memory.
  Task<Result<void>> flush();
  // Compacts all present chunks, with retention.
  Task<Result<void>> compact_all();
  // Writes rows of a static table to chunks, all or none: above all existing keys, or in their
  // place, in one step. Their timestamp is drawn here: snapshots that began before do not see them,
  // those that begin before it is done wait for it. After a replacement scans in progress read on
  // what they began with; other reads at timestamps before it fail as those below the retained
  // timestamp do. Requires: frozen. kInvalidArgument: the error names the key that is not above
  // another.
  Task<Result<void>> write_static(std::shared_ptr<const StaticRows> rows,
                                  StaticWrite how = StaticWrite::kAppend);
  // The same for rows that come in batches, of which one is in memory. They have the timestamp of
  // the beginning and are seen from the end on: reads at timestamps before it fail as those below
  // the retained timestamp do, also if the rows are added.
  Task<Result<void>> write_static(StaticBatches rows, StaticWrite how);
  // Waits until no flush or compaction is running or due.
  Task<void> settle();

  struct Flushed {
    Timestamp before = 0;    // Rows below it are in chunks. kMaxTimestamp: none are in memory.
    Timestamp retained = 0;  // Versions below it may be gone.
  };
  Flushed flushed() const;
  // Of an ordered table: the rows before this end were removed.
  RowEnd trimmed() const;
  // Records of all chunks. The tablet must be frozen before other tablets take them over.
  std::vector<ChunkRecord> chunk_records() const;
  // Other tablets whose blobs are still read here.
  std::vector<TabletId> borrowed_from() const;
  // Keys that split the data into about equal parts.
  std::vector<std::string> split_keys(std::size_t parts) const;

  TabletStatistics statistics() const;
  const TabletInfo& info() const;
  Task<void> stop();
  void abandon();
  // Called once, when the tablet ends by itself; immediately if it already has.
  void on_end(Callback hook);

 private:
  class Impl;
  explicit TableTablet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine::table
