// What the classes of the public API are made of.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "embed/database_core.h"
#include "embed/transaction_life.h"
#include "moraine/database.h"
#include "table/model/change_set.h"
#include "transaction/open_table.h"

namespace moraine {

struct Database::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
};

struct Table::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
  std::shared_ptr<TableHolder> holder;
  std::string path;
  std::shared_ptr<const TableSchema> schema;  // As rows are kept.
  std::shared_ptr<const TableSchema> shown;
  bool dynamic = true;      // When this was made.
  bool unique_keys = true;  // Else there are no lookups.
  std::vector<std::uint16_t> all_columns;
  std::uint64_t columns_id = 0;  // Of Columns that this table may be read by.
  std::shared_ptr<const table::RowLayout> layout;
  // Physical types of the key columns; empty when some are computed.
  std::vector<ValueType> key_types;
};

// A step and the sweep that looks whether the scan is idle (scan_registry.h) keep each other out by
// `state`.
struct Scan::Impl final : embed::IdleScan {
  enum class State : std::uint8_t { kIdle, kStepping, kSwept, kExpired };

  std::shared_ptr<embed::DatabaseCore> core;
  std::shared_ptr<const OpenTable> table;
  std::shared_ptr<embed::TransactionLife> life;     // Of the transaction that gave it. May be null.
  std::vector<std::unique_ptr<std::string>> texts;  // Of filters.
  table::ScanRequest request;
  std::size_t range = 0;  // That is being read.
  std::uint64_t rows_left = ~std::uint64_t{0};
  std::shared_ptr<table::TableTablet> tablet;
  std::unique_ptr<table::TabletScan> scan;
  table::ColumnBatch batch;
  std::chrono::milliseconds timeout{0};
  bool registered = false;
  bool ended = false;  // All rows were given; nothing is kept.
  std::atomic<State> state{State::kIdle};
  Clock::time_point used;  // Last.

  ~Impl() override;
  // One step, from begin_step() on.
  class Step {
   public:
    explicit Step(Impl& impl) : impl_(impl) {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { impl_.end_step(); }

   private:
    Impl& impl_;
  };
  Result<void> begin_step();
  void end_step();
  void end();
  // While a step goes on.
  void renew_use() const {
    if (life) life->renew();
  }
  // False: no range is left.
  Result<bool> open_next();
  void show(ScanBatch& out);

  bool release_if_idle(Clock::time_point now) override;
  void release();
  std::unexpected<Error> expired() const;
};

struct Transaction::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
  std::shared_ptr<embed::TransactionLife> life;
  Timestamp start = 0;
  TableAtomicity atomicity = TableAtomicity::kFull;
  struct Part {
    std::shared_ptr<const Table::Impl> table;
    table::ChangeSet changes;
  };
  std::map<const TableHolder*, Part> parts;  // A table's path may be written in several ways.

  ~Impl() { life->abort(); }
  // Reads are at its start.
  bool atomic() const { return atomicity == TableAtomicity::kFull; }

  // The changes to a table. kInvalidArgument: its schema has changed meanwhile.
  Result<void> check_table(const Table::Impl& table) const;
  Result<table::ChangeSet*> changes_of(const std::shared_ptr<const Table::Impl>& table);
  // kAborted: it is over, or was left alone for too long.
  Result<void> use();
  Result<void> use_last();  // By its commit.
  Result<GatheredTransaction> gather();
};

// Paths of the scheme have no slash at their beginning; people write one, or two.
inline std::string scheme_path(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

// The encoded key of positional values. kInvalidArgument: how many or of which type they must be.
Result<void> encode_given_key(const Table::Impl& table, Key key, std::string& out);

}  // namespace moraine
