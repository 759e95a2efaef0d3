// Transaction: reads of one snapshot, and changes that are gathered here and committed together.
//
// Promise    Nothing is sent before its commit. A change is checked when it is given; a rejected
//            one is not part of the transaction. One that was not used for its timeout has expired.
// Threading  One thread at a time. The coroutines run on any lane: they call tablets on
//            their lanes and return to the awaiting one.
// Errors     kAborted: it is over, has expired, or lost a conflict. kInvalidArgument: a change that
//            does not fit, a table of another client, a schema that has changed. Those of commit.h.
// Tests      embed/: database_test.cpp, transaction_timeout_test.cpp, write_limits_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "client/open_counts.h"
#include "client/scan.h"
#include "client/table.h"
#include "client/transaction_life.h"
#include "io/random.h"
#include "moraine/transaction.h"
#include "table/model/change_set.h"
#include "transaction/commit.h"

namespace moraine::client {

TransactionId new_transaction_id(Random& random);
Result<void> check_options(const TransactionOptions& options);

// The lane of the first tablet that the transaction changes, where its commit is cheapest;
// `otherwise`, when that tablet does not run here.
Executor& lane_of(const GatheredTransaction& gathered, Executor& otherwise);

class Transaction {
 public:
  // `client` outlives it. The options were checked.
  Transaction(TableClient& client, OpenCount::Place place, const TransactionId& id, Timestamp start,
              const TransactionOptions& options);
  Transaction(Transaction&&) noexcept = default;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();  // Aborts, unless it is over.

  Timestamp start() const { return start_; }
  const TransactionId& id() const { return life_->id(); }
  // Of its changes, in memory.
  std::size_t bytes() const;
  // Reads are at its start.
  bool atomic() const { return atomicity_ == Atomicity::kFull; }

  Result<void> insert(const Table& table, NamedRow row, const WriteOptions& options);
  Result<void> remove(const Table& table, Key key);
  Result<void> lock(const Table& table, Key key, RowLock mode, std::span<const std::string> groups);

  // Call before a lookup, which is a use; sets the timestamp to read at. Pass atomic() to the
  // lookup.
  Result<void> begin_read(const Table& table, ReadOptions& options);
  Result<NewScan> new_scan(const Table& table, ScanOptions options);

  // Ends it and returns its changes. None: it is committed at its start.
  Result<GatheredTransaction> gather();
  // Commits what gather() has returned.
  Task<Result<Timestamp>> commit(GatheredTransaction gathered);
  // Both.
  Task<Result<Timestamp>> commit();
  void abort();

 private:
  // The changes to one table, as of its schema when the first was made.
  struct Part {
    std::shared_ptr<TableHolder> holder;
    std::shared_ptr<const TableSchema> schema;
    std::string path;
    table::ChangeSet changes;
    std::size_t tablet = 0;  // Of an ordered table: for rows that name none.
    std::int64_t rows = 0;   // Appended so far.
  };

  // kAborted: the transaction is over, or was not used for its timeout.
  Result<void> use();
  Result<void> check_table(const Table& table) const;
  // The changes to a table. kInvalidArgument: its schema has changed since it was opened.
  Result<Part*> part_of(const Table& table);
  Result<table::ChangeSet*> changes_of(const Table& table);
  Result<void> append(const Table& table, NamedRow row, const WriteOptions& options);
  Result<GatheredTransaction> take_parts();

  TableClient* client_;
  std::shared_ptr<TransactionLife> life_;  // Null: moved from.
  Timestamp start_;
  Atomicity atomicity_;
  // By holder, since a table's path may be written in several ways.
  std::map<const TableHolder*, Part> parts_;
  OpenCount::Place place_;
};

}  // namespace moraine::client
