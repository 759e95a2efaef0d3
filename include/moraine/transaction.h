// Transaction: reads of one moment, and writes that happen together or not at all.
//
// Promise    It reads the moment of its start, not its own writes. Nothing is sent before commit().
//            Of two that overlap and conflict at most one commits.
// Threading  One thread at a time; scans that it gave may be on others.
// Texts      As database.h says.
// Errors     kAborted: it lost to another one, or is over; begin it anew. kNoSpace, kOverloaded,
//            kReadOnly and others: nothing was changed. kUnknownOutcome: it may be committed.
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
  kSharedWeak,    // Nobody has changed the row from the start to the commit.
  kSharedStrong,  // The same, and writers that overlap with it fail.
  kExclusive,
};

inline constexpr std::chrono::hours kTransactionTimeoutMax = std::chrono::hours{1};

struct TransactionOptions {
  TableAtomicity atomicity = TableAtomicity::kFull;
  // From its last use: a read, a write, a step of a scan that it gave. Afterwards all of these and
  // its commit fail with kAborted; none of its writes is kept. Above 0, at most
  // kTransactionTimeoutMax.
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

  // An insert upserts: it writes the row whether or not there is one with its key. What can be
  // checked is checked at once: the row against the schema (an integer is taken for a double where
  // that is exact), its size and that of the transaction against docs/limits.md. A write that was
  // refused is not part of the transaction: commit() does not report it again. Every key column is
  // named. Columns that an insert does not name become null, unless `update` says otherwise;
  // aggregating ones keep their value.
  [[nodiscard]] Result<void> insert(const Table& table, NamedRow row, WriteOptions options = {});
  [[nodiscard]] Result<void> insert(const Table& table, std::initializer_list<NamedValue> row,
                                    WriteOptions options = {});
  [[nodiscard]] Result<void> remove(const Table& table, Key key);
  [[nodiscard]] Result<void> remove(const Table& table, std::initializer_list<Value> key);
  // Locks of a row: one for each lock group of the schema (ColumnSchema::lock), for its columns,
  // and the primary one, for all other columns. The primary lock stands for the whole row: who
  // takes it conflicts with whoever takes any lock of the row, while two groups do not conflict.
  // Writes take the locks of the columns that they set (an insert without `update`: all), a remove
  // the primary one. `groups` by name; empty: the primary lock.
  [[nodiscard]] Result<void> lock(const Table& table, Key key, RowLock mode,
                                  std::span<const std::string> groups = {});

  // At its start, whatever options.timestamp says; without atomicity, at that timestamp.
  [[nodiscard]] Result<void> lookup(const Table& table, std::span<const Key> keys,
                                    ReadOptions options, Rowset& rows) const;
  Task<Result<void>> lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                  ReadOptions options, Rowset& rows) const;
  [[nodiscard]] Result<Scan> scan(const Table& table, ScanOptions options) const;

  // The commit timestamp. However it ends, the transaction is over. kUnknownOutcome: the database
  // failed while the commit was being written; read what it wrote to find out whether it is there
  // (without atomicity: which of it). Every other error: nothing was changed, it may be begun anew.
  [[nodiscard]] Result<Timestamp> commit();
  Task<Result<Timestamp>> commit_async();
  void abort();

 private:
  friend class Database;
  explicit Transaction(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine
