// Table: lookups and scans of one table.
//
// Promise    Reads at one timestamp, over any tables, see one consistent snapshot.
// Threading  A Table: any thread. A Scan, a Rowset: one thread at a time. Lookups of data in memory
//            run on the caller's thread.
// Texts      See database.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moraine/filter.h"
#include "moraine/result.h"
#include "moraine/row.h"
#include "moraine/rowset.h"
#include "moraine/schema.h"
#include "moraine/task.h"
#include "moraine/timestamp.h"

namespace moraine {

namespace client {
struct Table;
}

// Columns of one table, resolved once. Default: all columns of any table. Reads of another table,
// or of the same table opened again after its columns changed, fail with kInvalidArgument.
class Columns {
 public:
  Columns() = default;
  const std::vector<std::uint16_t>& indexes() const { return indexes_; }
  bool all() const { return table_ == 0; }
  // Identifies the table and its schema; 0: any.
  std::uint64_t table() const { return table_; }

 private:
  friend struct client::Table;
  std::uint64_t table_ = 0;
  std::vector<std::uint16_t> indexes_;
};

struct ReadOptions {
  Columns columns;
  // The timestamp to read at: kSyncLastCommitted, kAsyncLastCommitted, or from kMinTimestamp to
  // kMaxTimestamp. A read at a timestamp that was not issued yet sees what is committed now; the
  // same read may see more later.
  Timestamp timestamp = kSyncLastCommitted;
  Timestamp retention_timestamp = kNullTimestamp;  // Older versions are ignored.
  std::optional<bool> use_lookup_cache;            // nullopt: as the table's options say.
};

inline constexpr std::chrono::hours kScanTimeoutMax = std::chrono::hours{1};

struct ScanOptions {
  ReadOptions read;
  std::vector<Value> from;  // Key prefix, inclusive; empty: from the beginning.
  std::vector<Value> to;    // Exclusive; empty: to the end.
  std::vector<Filter> filters;
  std::uint64_t row_limit = ~std::uint64_t{0};
  bool text_tables = false;  // Columns of texts may be returned as ScanBatch::Column::codes.
  // Measured from the scan's last step. Afterwards next() fails with kAborted, and everything that
  // the scan holds is released except the texts of its last batch. Above 0, at most
  // kScanTimeoutMax. A transaction's scan uses the transaction's timeout instead.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

// A few thousand rows, stored by column. Texts live until the next batch.
struct ScanBatch {
  struct Column {
    ValueType type = ValueType::kNull;
    std::span<const std::uint64_t> words;  // int64, uint64, double: their bits; boolean: 0 or 1.
    std::span<const std::string_view> texts;
    std::span<const std::uint8_t> nulls;  // 1: null. Empty: no nulls.
    // With ScanOptions::text_tables, if `codes` is not empty: `texts` is empty, and the text of a
    // row is table[codes[row]].
    std::span<const std::uint32_t> codes{};
    std::span<const std::string_view> table{};
    Value at(std::size_t row) const;
  };
  std::size_t rows = 0;
  std::vector<Column> columns;
};

// A scan that is not used expires (ScanOptions::timeout): until then it retains data that was
// compacted away since it began. A scan made by a transaction: each step counts as a use of the
// transaction, and fails with kAborted once the transaction has expired, was aborted or failed to
// commit. After a successful commit the scan can be continued.
class Scan {
 public:
  struct Impl;
  Scan(Scan&&) noexcept;
  Scan& operator=(Scan&&) noexcept;
  ~Scan();
  // False: no more rows. Rows are in key order.
  [[nodiscard]] Result<bool> next(ScanBatch& batch);
  Task<Result<bool>> next_async(ScanBatch& batch);

 private:
  friend class Table;
  friend class Transaction;
  explicit Scan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct RowVersion {
  std::string column;
  Timestamp timestamp = 0;
  bool aggregate = false;
  Value value;
};
struct VersionedResult {
  bool found = false;
  std::vector<Timestamp> write_timestamps;  // Newest first.
  std::vector<Timestamp> delete_timestamps;
  std::vector<RowVersion> versions;    // By column, newest first.
  std::shared_ptr<const void> memory;  // Owns the texts.
};

class Table {
 public:
  struct Impl;
  const std::string& path() const;
  const TableSchema& schema() const;
  [[nodiscard]] Result<Columns> columns(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] Result<Columns> columns(std::span<const std::string> names) const;

  // One row of the result for each key. A key that is not found is not an error.
  [[nodiscard]] Result<void> lookup(std::span<const Key> keys, const ReadOptions& options,
                                    Rowset& rows) const;
  [[nodiscard]] Result<void> lookup(std::initializer_list<Value> key, const ReadOptions& options,
                                    Rowset& rows) const;
  // The call reads what is in memory, the task the rest. `rows` outlives the task.
  Task<Result<void>> lookup_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                  Rowset& rows) const;
  // All versions of a row at or below the timestamp.
  [[nodiscard]] Result<VersionedResult> lookup_versions(Key key, Timestamp timestamp) const;
  Task<Result<VersionedResult>> lookup_versions_async(std::vector<Value> key,
                                                      Timestamp timestamp) const;
  // Does not read yet, so coroutines call it too, and then Scan::next_async().
  [[nodiscard]] Result<Scan> scan(ScanOptions options = {}) const;

 private:
  friend class Database;
  friend class Transaction;
  explicit Table(std::shared_ptr<const Impl> impl);
  [[nodiscard]] Result<void> read(std::span<const Key> keys, const ReadOptions& options,
                                  bool in_transaction, Rowset& rows) const;
  Task<Result<void>> read_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                bool in_transaction, Rowset& rows) const;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace moraine
