// Transaction: reads from one snapshot, and writes that are committed together or not at all.
//
// Promise    It reads the snapshot at its start, without its own writes. Nothing is sent before
//            commit(). Of two overlapping transactions that conflict at most one commits.
// Threading  One thread at a time; its scans may be used on other threads.
// Texts      See database.h.
// Errors     kAborted: it lost a conflict, or is over; begin a new one. kNoSpace, kOverloaded,
//            kReadOnly, kNotHere and others: nothing was changed. kUnknownOutcome: it may be
//            committed.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "moraine/table.h"
#include "moraine/table_options.h"

namespace moraine {

struct WriteOptions {
  bool update = false;        // Columns that are not named keep their values.
  bool aggregate = false;     // Values of aggregating columns are deltas.
  bool shared_write = false;  // Does not conflict with other shared writes.
};
enum class RowLock : std::uint8_t {
  kSharedWeak,    // The row was not changed from the start to the commit.
  kSharedStrong,  // The same, and overlapping writers fail.
  kExclusive,
  kSharedWrite,  // As a write with WriteOptions::shared_write.
};

inline constexpr std::chrono::hours kTransactionTimeoutMax = std::chrono::hours{1};

struct TransactionOptions {
  Atomicity atomicity = Atomicity::kFull;
  // Measured from the transaction's last use: a read, a write, a step of one of its scans.
  // Afterwards all of these and the commit fail with kAborted, and its writes are dropped. Above 0,
  // at most kTransactionTimeoutMax.
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

  // An insert upserts: it writes the row whether or not its key exists. What can be checked is
  // checked immediately: the row against the schema (an integer is accepted for a double where that
  // is exact), its size and that of the transaction against docs/limits.md. A rejected write is not
  // part of the transaction: commit() does not report it again. Every key column must be named.
  // Columns that an insert does not name become null, unless `update` is set; aggregating ones keep
  // their value.
  [[nodiscard]] Result<void> insert(const Table& table, NamedRow row, WriteOptions options = {});
  [[nodiscard]] Result<void> insert(const Table& table, std::initializer_list<NamedValue> row,
                                    WriteOptions options = {});
  [[nodiscard]] Result<void> remove(const Table& table, Key key);
  [[nodiscard]] Result<void> remove(const Table& table, std::initializer_list<Value> key);
  // A row has one lock for each lock group of the schema (ColumnSchema::lock), which covers the
  // columns of that group, and the primary lock, which covers all other columns. The primary lock
  // also conflicts with every other lock of the row; two lock groups do not conflict with each
  // other. Writes take the locks of the columns that they set (an insert without `update`: all), a
  // remove takes the primary lock. `groups`: names of lock groups; empty: the primary lock.
  [[nodiscard]] Result<void> lock(const Table& table, Key key, RowLock mode,
                                  std::span<const std::string> groups = {});

  // Reads at the transaction's start and ignores options.timestamp; without atomicity, reads at
  // options.timestamp.
  [[nodiscard]] Result<void> lookup(const Table& table, std::span<const Key> keys,
                                    ReadOptions options, Rowset& rows) const;
  Task<Result<void>> lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                  ReadOptions options, Rowset& rows) const;
  [[nodiscard]] Result<Scan> scan(const Table& table, ScanOptions options) const;

  // Returns the commit timestamp. The transaction is over in any case. kUnknownOutcome: the
  // database failed while the commit was being written; read the rows to find out whether they were
  // written (without atomicity: which of them). Any other error: nothing was changed, a new
  // transaction may retry.
  [[nodiscard]] Result<Timestamp> commit();
  Task<Result<Timestamp>> commit_async();
  void abort();

 private:
  friend class Database;
  explicit Transaction(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine
