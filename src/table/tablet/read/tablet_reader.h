// TabletReader: lookups and scans of one tablet.
//
// Promise    A read at a timestamp sees every transaction committed at or before it and nothing
//            else; at sync_last_committed everything that was acknowledged before the read began;
//            at async_last_committed without waiting for undecided transactions.
// Threading  try_lookup() and TabletScan::next() on any thread, without blocking, locks or an
//            allocation per row; read_missing_blocks_inline() on any thread that may block for a
//            disk. The rest is finished on the tablet's executor.
// Errors     kInvalidArgument: a timestamp below the retained one (the text has both), a retention
//            timestamp above the timestamp. kAborted: the start of a transaction is now below the
//            retained timestamp. kCorrupt: the error names the chunk. kTimeout: a row is still
//            undecided, or the deadline of a lookup has passed.
// Tests      tablet_lookup_test.cpp, lookup_inline_test.cpp, tablet_scan_test.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/executor.h"
#include "moraine/rowset.h"
#include "table/cache/row_cache.h"
#include "table/model/column_batch.h"
#include "table/model/retention.h"
#include "table/tablet/read/read_statistics.h"
#include "table/tablet/read/scan_split.h"
#include "table/tablet/view.h"

namespace moraine::table {

class DeletedRange;

// Waits for undecided transactions; implemented by the tablet's write side.
class UndecidedRows {
 public:
  virtual ~UndecidedRows() = default;
  // Returns when no transaction that a reader at `timestamp` must see is undecided on the row.
  virtual Task<Result<void>> wait_decided(std::string key, Timestamp timestamp,
                                          Instant deadline) = 0;
};

struct LookupRequest {
  std::span<const std::string_view> keys;  // Encoded.
  // Columns of the schema, keys too, in the order of the result.
  std::span<const ColumnIndex> columns;
  Timestamp timestamp = kSyncLastCommitted;
  Timestamp retention_timestamp = kNullTimestamp;  // Older versions are ignored.
  std::optional<bool> use_lookup_cache;            // nullopt: the table's default.
  bool in_transaction = false;                     // The timestamp is the start of one.
  // A lookup of keys that are not in memory, or undecided, fails with kTimeout once it has passed.
  Instant deadline = Instant::never();
};

// Keys that try_lookup() could not read.
struct UnfinishedLookup {
  std::vector<std::uint32_t> keys;  // Positions in the request.
  Instant begun;                    // When the lookup began.
};

struct ScanRequest {
  KeyBounds bounds;
  std::vector<ColumnIndex> columns;
  // Value columns. Behind `columns` a batch has, for each, when its visible value was written, as
  // uint64; of an aggregated one the newest that was folded. Such rows are merged one by one.
  std::vector<ColumnIndex> timestamps_of;
  // Rows match all filters and all conditions. Texts of their values must outlive the scan.
  std::vector<ColumnFilter> filters;
  std::vector<ColumnCondition> conditions;
  bool text_tables = false;  // Texts may be returned as codes (ColumnVector::table).
  bool columnar = true;      // False: all rows are merged one by one (tests compare both).
  Timestamp timestamp = kSyncLastCommitted;
  Timestamp retention_timestamp = kNullTimestamp;
  bool in_transaction = false;          // The timestamp is the start of one.
  Instant deadline = Instant::never();  // Of waits for undecided rows, as in LookupRequest.
  std::uint64_t row_limit = ~std::uint64_t{0};
};

// Visible rows in key order, in batches of columns.
class TabletScan {
 public:
  enum class Step : std::uint8_t { kRows, kEnd, kNeedsData };
  virtual ~TabletScan() = default;
  // Texts of the batch live until the next call.
  virtual Result<Step> next(ColumnBatch& batch) = 0;
  // On the tablet's executor, after kNeedsData: loads blocks, hunks, or waits for a row.
  virtual Task<Result<void>> load() = 0;
  // Every row below this key was returned or does not match. Empty: not known. After next() or
  // load(), on the same thread.
  virtual std::string position() const = 0;
  // Releases all stores that no text of the last batch borrows from. No more calls follow. On any
  // thread, while no other call is running.
  virtual void release() = 0;
  // Of the scan so far, on the thread of next(). Of a scan on another node: rows returned.
  virtual ScanStatistics statistics() const = 0;
};

// All versions of one row; owns its texts.
struct OwnedVersionedRow {
  bool exists = false;  // Has any timestamp.
  RowBuilder row;
  std::string key;
  std::vector<std::unique_ptr<char[]>> memory;
};

// Caches and filters that a lookup uses.
struct LookupPaths {
  RowCache* cache = nullptr;  // Null: not used.
  bool use_key_filter = true;
};

struct ReaderOptions {
  bool cache_by_default = false;
  bool use_key_filter = true;
  Duration undecided_timeout = 10s;
  // The current time, for retention of versioned lookups at a last committed timestamp. Empty: the
  // newest timestamp in the tablet's stores.
  std::function<Timestamp()> clock;
};

class TabletReader {
 public:
  // All must outlive the reader. `cache` may be null.
  TabletReader(Executor& executor, const ViewHolder& views, UndecidedRows& undecided,
               BlobReader& blobs, RowCache* cache, ReadStatistics& statistics,
               ReaderOptions options);

  // Fills `rows` with what is in memory; the rest is in `left`. OK and `left` empty: done.
  Result<void> try_lookup(const LookupRequest& request, Rowset& rows, UnfinishedLookup& left) const;
  // Reads a few missing blocks on this thread, blocking for the disk, and removes from `left` the
  // keys that this finished.
  Result<void> read_missing_blocks_inline(const LookupRequest& request, Rowset& rows,
                                          UnfinishedLookup& left) const;
  // Reads the keys in `left`.
  Task<Result<void>> finish_lookup(const LookupRequest& request, Rowset& rows,
                                   UnfinishedLookup left) const;
  // Both, on the tablet's executor.
  Task<Result<void>> lookup(const LookupRequest& request, Rowset& rows) const;

  // All versions at or below the timestamp, as the retention config (if any) would leave them.
  Task<Result<OwnedVersionedRow>> lookup_versions(std::string key, Timestamp timestamp,
                                                  std::optional<RetentionConfig> retention,
                                                  Instant deadline = Instant::never()) const;

  // The scan keeps its stores alive, not the reader.
  Result<std::unique_ptr<TabletScan>> scan(ScanRequest request) const;
  // Keys that cut the range into at most `parts` of about equal size (scan_split.h), for scans that
  // run at the same time. On any thread.
  std::vector<std::string> split_keys(const KeyBounds& bounds, std::size_t parts) const;
  // Of a tablet whose rows have one version each: where to begin for the row of this number, from
  // 0; the last key that chunks tell with at most so many rows below it. On any thread.
  RowStart place_of_row(std::uint64_t row) const;

  void set_options(ReaderOptions options);  // On the tablet's executor.
  // Set before the first scan.
  void set_deleted_range(std::shared_ptr<DeletedRange> range) { deleted_range_ = std::move(range); }

 private:
  // What one pass of a lookup uses.
  LookupPaths paths_for(const LookupRequest& request) const;
  void observe(Instant begun) const;
  Result<void> read_in_memory(const LookupRequest& request, Rowset& rows,
                              UnfinishedLookup& left) const;
  Result<void> read_blocks_here(const LookupRequest& request, Rowset& rows,
                                UnfinishedLookup& left) const;
  Task<Result<OwnedVersionedRow>> find_versions(std::string key, Timestamp timestamp,
                                                std::optional<RetentionConfig> retention,
                                                Instant deadline) const;
  Task<Result<void>> finish_parts(const LookupRequest& request, Rowset& rows,
                                  UnfinishedLookup left) const;
  Task<Result<void>> finish_part(const LookupRequest& request, Rowset& rows,
                                 std::vector<std::uint32_t> part, Instant deadline) const;
  Duration undecided_timeout() const {
    return Duration(undecided_timeout_.load(std::memory_order_relaxed));
  }

  Executor& executor_;
  const ViewHolder& views_;
  UndecidedRows& undecided_;
  BlobReader& blobs_;
  RowCache* cache_;
  ReadStatistics& statistics_;
  std::shared_ptr<DeletedRange> deleted_range_;
  // On the tablet's executor only; other threads use the members beside it.
  ReaderOptions options_;
  std::atomic<bool> cache_by_default_{false};
  std::atomic<bool> use_key_filter_{true};
  std::atomic<Duration::rep> undecided_timeout_{0};
};

}  // namespace moraine::table
