// Database: a data folder opened inside this process.
//
//   auto db = moraine::Database::open("./data").value();
//   db.create_table("/users", schema);
//   auto users = db.table("/users").value();
//   auto tx = db.begin().value();
//   tx.insert(users, {{"id", 1}, {"name", "Ada"}});
//   auto committed = tx.commit();
//   moraine::Rowset rows;
//   users.lookup({1}, {}, rows);
//
// Promise    What was answered OK is durable. Reads at one timestamp, over any tables, see the same
//            moment. A transaction reads the moment of its start, not its own writes.
// Threading  Database and Table: any thread. A Transaction, a Scan, a Rowset: one thread at a time.
//            Lookups of data in memory run on the caller's thread; all else on the database's own
//            thread, for which the plain forms wait. The forms that give a Task are awaited by
//            coroutines on that thread (run()); what has no such form does not wait and is called
//            there as it is, but for open(). A Task takes its arguments by value; the object it
//            was asked of, texts of Values and what it fills live until it has ended.
// Limits     docs/limits.md. One process has a folder open.
// Errors     Every call says what was wrong in words. kAborted: the transaction lost to another
//            one, or was left alone for too long; begin it anew. kUnavailable: the outcome is
//            unknown.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "moraine/result.h"
#include "moraine/row.h"
#include "moraine/rowset.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "moraine/task.h"

namespace moraine {

namespace embed {
struct NodeParts;
}

using Timestamp = std::uint64_t;

struct OpenOptions {
  bool create = true;              // Makes the folder when it is missing.
  std::uint64_t device_bytes = 0;  // Of a new folder's device; 0: as `moraine init` chooses.
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  std::size_t compressed_cache_bytes = 0;
  std::size_t row_cache_bytes = std::size_t{64} << 20;
};

// Columns of one table, resolved once. Default: all of them, of any table. Reads of another table,
// or of the same one taken anew after its columns changed, hear kInvalidArgument.
class Columns {
 public:
  Columns() = default;
  const std::vector<std::uint16_t>& indexes() const { return indexes_; }
  bool all() const { return table_ == 0; }
  // Stands for the table and its schema; 0: any.
  std::uint64_t table() const { return table_; }

 private:
  friend class Table;
  std::uint64_t table_ = 0;
  std::vector<std::uint16_t> indexes_;
};

struct ReadOptions {
  Columns columns;
  Timestamp timestamp = 0x3fffffffffffff01;  // sync_last_committed
  Timestamp retention_timestamp = 0;
  std::optional<bool> use_lookup_cache;
};

struct Filter {
  enum class Op : std::uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIsNull,
    kIsNotNull
  };
  std::string column;
  Op op = Op::kEqual;
  Value value;  // Of the column's type, or a number that fits it. Its text outlives the scan.
};

struct ScanOptions {
  ReadOptions read;
  std::vector<Value> from;  // Key prefix, inclusive; empty: from the beginning.
  std::vector<Value> to;    // Exclusive; empty: to the end.
  std::vector<Filter> filters;
  std::uint64_t row_limit = ~std::uint64_t{0};
};

// Some thousand rows by columns. Texts live until the next batch.
struct ScanBatch {
  struct Column {
    ValueType type = ValueType::kNull;
    std::span<const std::uint64_t> words;  // int64, uint64, double: their bits; boolean: 0 or 1.
    std::span<const std::string_view> texts;
    std::span<const std::uint8_t> nulls;  // 1: null. Empty: none is.
    Value at(std::size_t row) const;
  };
  std::size_t rows = 0;
  std::vector<Column> columns;
};

class Scan {
 public:
  struct Impl;
  Scan(Scan&&) noexcept;
  Scan& operator=(Scan&&) noexcept;
  ~Scan();
  // False: the end. Rows are in key order.
  Result<bool> next(ScanBatch& batch);
  Task<Result<bool>> next_async(ScanBatch& batch);

 private:
  friend class Table;
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
  std::shared_ptr<const void> memory;  // Of texts.
};

class Table {
 public:
  struct Impl;
  const std::string& path() const;
  const TableSchema& schema() const;
  Result<Columns> columns(std::initializer_list<std::string_view> names) const;
  Result<Columns> columns(std::span<const std::string> names) const;

  // One row of the answer for each key. Keys that are not found are not errors.
  Result<void> lookup(std::span<const Key> keys, const ReadOptions& options, Rowset& rows) const;
  Result<void> lookup(std::initializer_list<Value> key, const ReadOptions& options,
                      Rowset& rows) const;
  Task<Result<void>> lookup_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                  Rowset& rows) const;
  Result<VersionedResult> lookup_versions(Key key, Timestamp timestamp) const;
  Task<Result<VersionedResult>> lookup_versions_async(std::vector<Value> key,
                                                      Timestamp timestamp) const;
  // Reads nothing yet: coroutines call it too, and then Scan::next_async().
  Result<Scan> scan(ScanOptions options = {}) const;

 private:
  friend class Database;
  friend class Transaction;
  explicit Table(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

struct WriteOptions {
  bool update = false;        // Columns that are not named keep their values.
  bool aggregate = false;     // Values of aggregating columns are deltas.
  bool shared_write = false;  // Does not conflict with other shared writes.
};
enum class RowLock : std::uint8_t { kSharedWeak, kSharedStrong, kExclusive };

struct TransactionOptions {
  TableAtomicity atomicity = TableAtomicity::kFull;
  // From its last use; steps of a Scan that it gave are none, and go on. Afterwards its reads,
  // writes and commits hear kAborted; none of its writes is kept.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

class Transaction {
 public:
  struct Impl;
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();  // Aborts, unless it is over.

  Timestamp start() const;
  std::string id() const;
  // Nothing is sent before commit(); what can be checked is checked at once. A write that was
  // refused is not part of the transaction: commit() does not speak of it again. Every key column
  // is named. Columns that an insert does not name become null, unless `update` says otherwise;
  // aggregating ones keep their value.
  Result<void> insert(const Table& table, NamedRow row, WriteOptions options = {});
  Result<void> insert(const Table& table, std::initializer_list<NamedValue> row,
                      WriteOptions options = {});
  Result<void> remove(const Table& table, Key key);
  Result<void> remove(const Table& table, std::initializer_list<Value> key);
  // Lock groups by name; empty: the primary lock.
  Result<void> lock(const Table& table, Key key, RowLock mode,
                    std::span<const std::string> groups = {});
  // At its start; own writes are not seen.
  Result<void> lookup(const Table& table, std::span<const Key> keys, ReadOptions options,
                      Rowset& rows) const;
  Task<Result<void>> lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                  ReadOptions options, Rowset& rows) const;
  Result<Scan> scan(const Table& table, ScanOptions options) const;

  // The commit timestamp.
  Result<Timestamp> commit();
  Task<Result<Timestamp>> commit_async();
  void abort();

 private:
  friend class Database;
  explicit Transaction(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct TabletReport {
  std::string id;
  std::vector<Value> pivot;
  std::string state;       // "mounted", "frozen", ...
  std::uint64_t rows = 0;  // Of all stores, not merged.
  std::uint64_t chunks = 0;
  std::uint64_t partitions = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t uncompressed_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::string error;
};
struct TableReport {
  std::string path;
  TableSchema schema;
  TableOptions options;
  bool dynamic = true;
  std::string state;  // Of all tablets; "mixed", "transient".
  std::vector<TabletReport> tablets;
  std::shared_ptr<const void> memory;  // Of texts.
};

class Database {
 public:
  struct Impl;
  // kConflict: another process has it open, and had for two seconds. One that was killed lets go of
  // it a moment after it is gone.
  static Result<Database> open(const std::string& folder, OpenOptions options = {});
  // The tables of a node that this process runs already, which goes on when this is gone
  // (src/embed/node_parts.h).
  static Database connect(const embed::NodeParts& parts);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  // Stops cleanly, once tables, scans and transactions that were got from it are gone too.
  ~Database();

  // Makes missing parent directories, and mounts the table. `pivots`: first keys of the second
  // tablet and those after it.
  Result<void> create_table(std::string_view path, const TableSchema& schema,
                            const TableOptions& options = {},
                            std::span<const std::vector<Value>> pivots = {});
  Result<void> remove_table(std::string_view path);
  Result<void> mount_table(std::string_view path, bool frozen = false);
  Result<void> unmount_table(std::string_view path);
  Result<void> freeze_table(std::string_view path);
  Result<void> unfreeze_table(std::string_view path);
  Result<void> remount_table(std::string_view path, const TableMountOptions& options);
  // Unmounted tables only.
  Result<void> alter_table(std::string_view path, const TableSchema& schema);
  Result<void> set_options(std::string_view path, const TableOptions& options);
  Result<void> reshard_table(std::string_view path, std::span<const std::vector<Value>> pivots);
  // Into at most so many tablets of about equal size, as far as the keys of chunks tell.
  Result<void> reshard_table(std::string_view path, std::size_t tablets);
  Result<std::vector<std::string>> list_tables() const;
  Result<TableReport> describe_table(std::string_view path) const;
  // Writes memory stores to chunks; compacts all chunks; waits until neither has work and the file
  // system has dead space back.
  Result<void> flush_table(std::string_view path);
  Result<void> compact_table(std::string_view path);
  void settle_table(std::string_view path);
  // The same for coroutines.
  Task<Result<void>> create_table_async(std::string path, TableSchema schema,
                                        TableOptions options = {},
                                        std::vector<std::vector<Value>> pivots = {});
  Task<Result<void>> remove_table_async(std::string path);
  Task<Result<void>> mount_table_async(std::string path, bool frozen = false);
  Task<Result<void>> unmount_table_async(std::string path);
  Task<Result<void>> freeze_table_async(std::string path);
  Task<Result<void>> unfreeze_table_async(std::string path);
  Task<Result<void>> remount_table_async(std::string path, TableMountOptions options);
  Task<Result<void>> alter_table_async(std::string path, TableSchema schema);
  Task<Result<void>> set_options_async(std::string path, TableOptions options);
  Task<Result<void>> reshard_table_async(std::string path, std::vector<std::vector<Value>> pivots);
  Task<Result<void>> reshard_table_async(std::string path, std::size_t tablets);
  Task<Result<std::vector<std::string>>> list_tables_async() const;
  Task<Result<TableReport>> describe_table_async(std::string path) const;
  Task<Result<void>> flush_table_async(std::string path);
  Task<Result<void>> compact_table_async(std::string path);
  Task<void> settle_table_async(std::string path);

  // Static tables: rows come in whole writes, sorted by their key columns (which may repeat unless
  // schema.unique_keys says otherwise) or, without key columns, in the order given. They are read
  // by Table::scan, whose bounds are row numbers when there are no key columns; with unique keys
  // also by lookups.
  Result<void> create_static_table(std::string_view path, const TableSchema& schema,
                                   const TableOptions& options = {});
  // All rows or none are added, after those that are there, which their keys may not be below. All
  // have one timestamp, of the moment when the write began.
  Result<void> write_static_table(std::string_view path,
                                  std::span<const std::vector<NamedValue>> rows);
  // A sorted static table with unique keys becomes a dynamic one, mounted. Its rows keep their
  // timestamps.
  Result<void> make_dynamic(std::string_view path);
  Task<Result<void>> create_static_table_async(std::string path, TableSchema schema,
                                               TableOptions options = {});
  Task<Result<void>> write_static_table_async(std::string path,
                                              std::vector<std::vector<NamedValue>> rows);
  Task<Result<void>> make_dynamic_async(std::string path);

  // kNotFound. Reads and commits of a table that is not mounted hear kReadOnly. After alter_table()
  // the table is taken anew: writes by the old one hear kInvalidArgument.
  Result<Table> table(std::string_view path) const;
  Task<Result<Table>> table_async(std::string path) const;
  Result<Transaction> begin(TransactionOptions options = {});
  Task<Result<Transaction>> begin_async(TransactionOptions options = {});
  // A moment to read at: all that is committed now, and nothing later.
  Result<Timestamp> timestamp();
  Task<Result<Timestamp>> timestamp_async();

  // Runs a coroutine on the database's thread and waits for it. It uses the forms that give a Task;
  // those that wait would wait for themselves.
  template <class T>
  T run(std::function<Task<T>()> body);
  // Prometheus text.
  std::string metrics() const;
  Task<std::string> metrics_async() const;
  // What is stored takes up this much: an idle database gives dead space back after about a second.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;
  Task<std::uint64_t> device_bytes_used_async() const;
  Task<std::uint64_t> device_bytes_written_async() const;

 private:
  explicit Database(std::unique_ptr<Impl> impl);
  void run_and_wait(std::function<Task<void>()> body);
  std::unique_ptr<Impl> impl_;
};

template <class T>
T Database::run(std::function<Task<T>()> body) {
  std::optional<T> result;
  run_and_wait([&]() -> Task<void> { result.emplace(co_await body()); });
  return std::move(*result);
}

}  // namespace moraine
