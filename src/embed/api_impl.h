// Implementation classes behind the public API.
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
  std::shared_ptr<const TableSchema> schema;  // As rows are stored.
  std::shared_ptr<const TableSchema> shown;
  bool dynamic = true;      // When the handle was made.
  bool unique_keys = true;  // False: no lookups.
  std::vector<std::uint16_t> all_columns;
  std::uint64_t columns_id = 0;  // Columns with this id may be used to read this table.
  std::shared_ptr<const table::RowLayout> layout;
  // Physical types of the key columns; empty when some are computed.
  std::vector<ValueType> key_types;
};

// A step and the sweep that releases idle scans (scan_registry.h) exclude each other through
// `state`.
struct Scan::Impl final : embed::IdleScan {
  enum class State : std::uint8_t { kIdle, kStepping, kSwept, kExpired };

  std::shared_ptr<embed::DatabaseCore> core;
  std::shared_ptr<const OpenTable> table;
  std::shared_ptr<embed::TransactionLife> life;     // Of its transaction. May be null.
  std::vector<std::unique_ptr<std::string>> texts;  // Texts of filters.
  table::ScanRequest request;
  std::size_t range = 0;  // The range being read.
  std::uint64_t rows_left = ~std::uint64_t{0};
  std::shared_ptr<table::TableTablet> tablet;
  std::unique_ptr<table::TabletScan> scan;
  table::ColumnBatch batch;
  std::chrono::milliseconds timeout{0};
  bool registered = false;
  bool ended = false;  // All rows were returned; the scan holds nothing.
  std::atomic<State> state{State::kIdle};
  Clock::time_point used;  // When a step last ended.

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
  // While a step runs.
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
  Atomicity atomicity = Atomicity::kFull;
  struct Part {
    std::shared_ptr<const Table::Impl> table;
    table::ChangeSet changes;
  };
  // Keyed by holder, since a table's path may be written in several ways.
  std::map<const TableHolder*, Part> parts;

  ~Impl() { life->abort(); }
  // Reads are at the transaction's start.
  bool atomic() const { return atomicity == Atomicity::kFull; }

  // The changes to a table. kInvalidArgument: its schema has changed since the handle was made.
  Result<void> check_table(const Table::Impl& table) const;
  Result<table::ChangeSet*> changes_of(const std::shared_ptr<const Table::Impl>& table);
  // kAborted: the transaction is over, or was not used for its timeout.
  Result<void> use();
  Result<void> use_last();  // For the commit.
  Result<GatheredTransaction> gather();
};

// Paths of the scheme have no leading slash; users write one, or two.
inline std::string scheme_path(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

// The encoded key of positional values. kInvalidArgument: wrong number or type of values.
Result<void> encode_given_key(const Table::Impl& table, Key key, std::string& out);

}  // namespace moraine
