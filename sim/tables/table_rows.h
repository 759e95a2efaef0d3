// The tables of the campaign: their rows by names, and how they look in tablets.
//
// Every table has the same columns: the key, the transaction that wrote the row, a value, a sum
// that gathers deltas, and a text. Keys are of three sorts, mixed in every tablet: accounts,
// registers and sums.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transaction/tablet_messages.h"

namespace moraine::sim {

struct RowName {
  std::uint32_t table = 0;
  std::int64_t key = 0;
  auto operator<=>(const RowName&) const = default;
  std::uint64_t number() const {
    return std::uint64_t{table} << 32 | static_cast<std::uint32_t>(key);
  }
};
std::string to_string(const RowName& row);

enum class RowSort : std::uint8_t { kAccount, kRegister, kSum };
inline constexpr std::size_t kRowSorts = 3;
inline RowSort sort_of(const RowName& row) {
  return static_cast<RowSort>(row.key % static_cast<std::int64_t>(kRowSorts));
}

// One row as a reader saw it.
struct SeenRow {
  bool exists = false;
  std::optional<std::int64_t> writer;
  std::optional<std::int64_t> value;
  std::optional<std::int64_t> sum;
  bool operator==(const SeenRow&) const = default;
};
std::string to_string(const SeenRow& row);

enum class PlannedKind : std::uint8_t {
  kPut,
  kDelete,
  kDelta,        // Adds the transaction's number to the sum.
  kSharedDelta,  // The same with a lock that such writers share.
  kReadLock,
};

struct PlannedChange {
  RowName row;
  PlannedKind kind = PlannedKind::kPut;
  std::int64_t value = 0;
  std::size_t text_bytes = 0;
};

struct TableLayout {
  static constexpr TabletId kOracle{40};
  static constexpr std::uint64_t kFirstCoordinator = 50;
  static constexpr std::uint64_t kFirstTable = 100;
  static constexpr std::uint64_t kRangesMax = 10;

  std::size_t tables = 2;
  std::size_t ranges = 2;  // Tablets of a table.
  std::int64_t keys = 24;  // Of a table.
  std::size_t coordinators = 1;
  std::shared_ptr<const TableSchema> schema;

  std::vector<TabletId> table_tablets() const;
  std::vector<TabletId> coordinator_tablets() const;
  std::vector<TabletId> all_tablets() const;
  TabletId tablet_of(const RowName& row) const;
  std::uint32_t table_of(TabletId tablet) const;
  table::KeyBounds bounds_of(TabletId tablet) const;
  std::vector<RowName> rows_of(TabletId tablet) const;
  std::vector<RowName> rows(RowSort sort) const;
};

TableSchema campaign_schema(std::optional<std::uint64_t> inline_bytes_max);
// All columns but the key.
std::vector<table::ColumnIndex> value_columns();
std::string key_of(const RowName& row);
table::RowChange change_of(const PlannedChange& planned, std::uint64_t transaction);
SeenRow seen_row(const FoundRow& found);
TransactionId transaction_id(std::uint64_t number);

// A version of a row as the tablet keeps it.
struct FoundVersion {
  Timestamp at = 0;
  bool deleted = false;
  std::optional<std::int64_t> writer;
  std::optional<std::int64_t> delta;
};
std::vector<FoundVersion> versions_of(const table::OwnedVersionedRow& row);

}  // namespace moraine::sim
