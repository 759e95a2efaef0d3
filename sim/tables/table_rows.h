// The tables of the campaign: their rows by name, and their encoding in tablets.
//
// Every table has the same columns: the key, the transaction that wrote the row, a value, a sum of
// deltas, a text, and a left and a right half, which have a lock group each and hold the
// transaction that wrote them. A table that is altered gets an extra column. Keys are of four
// kinds, mixed in every tablet: accounts, registers, sums and halves.
#pragma once

#include <array>
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

enum class RowSort : std::uint8_t { kAccount, kRegister, kSum, kHalves };
inline constexpr std::size_t kRowSorts = 4;
inline RowSort sort_of(const RowName& row) {
  return static_cast<RowSort>(row.key % static_cast<std::int64_t>(kRowSorts));
}

// One row as a reader saw it.
struct SeenRow {
  bool exists = false;
  std::optional<std::int64_t> writer;
  std::optional<std::int64_t> value;
  std::optional<std::int64_t> sum;
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> right;
  std::optional<std::int64_t> extra;
  bool operator==(const SeenRow&) const = default;
};
std::string to_string(const SeenRow& row);

enum class PlannedKind : std::uint8_t {
  kPut,
  kDelete,
  kDelta,        // Adds the transaction's number to the sum.
  kSharedDelta,  // The same with a lock that such writers share.
  kLeft,         // Puts one half, with its lock.
  kRight,
  kReadLock,
};

// Set of parts of a row that have locks of their own.
using Halves = std::uint8_t;
inline constexpr Halves kLeftHalf = 1;
inline constexpr Halves kRightHalf = 2;
inline constexpr Halves kWholeRow = kLeftHalf | kRightHalf;

struct PlannedChange {
  RowName row;
  PlannedKind kind = PlannedKind::kPut;
  std::int64_t value = 0;
  std::size_t text_bytes = 0;
  bool extra = false;  // A put writes the extra column too.
  // Halves that it locks for reading; for a read lock, none means the whole row.
  Halves locked = 0;
  bool weak = false;  // That lock is a weak one.
};
// The halves that it changes.
Halves changed_halves(const PlannedChange& change);
// The halves that it locks for reading.
Halves read_halves(const PlannedChange& change);

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
// Value columns by name, in the order of value_columns(); the extra one comes last.
inline constexpr std::array<std::string_view, 7> kValueColumns = {"w", "v", "s", "t",
                                                                  "l", "r", "x"};
// All columns but the key.
std::vector<table::ColumnIndex> value_columns();
// Sets the field for the i-th of kValueColumns.
void show_cell(SeenRow& row, std::size_t i, std::int64_t value);
std::string key_of(const RowName& row);
table::RowChange change_of(const PlannedChange& planned, std::uint64_t transaction);
// Cells of value_columns(), in their order.
SeenRow seen_row(std::span<const Value> cells);
TransactionId transaction_id(std::uint64_t number);

// A version of a row as the tablet keeps it.
struct FoundVersion {
  Timestamp at = 0;
  bool deleted = false;
  std::optional<std::int64_t> writer;
  std::optional<std::int64_t> delta;
  std::optional<std::int64_t> half;
  // The transaction, from whichever field is set.
  std::optional<std::int64_t> by() const { return writer ? writer : half ? half : delta; }
};
// `schema` is that of the tablet.
std::vector<FoundVersion> versions_of(const table::OwnedVersionedRow& row,
                                      const TableSchema& schema);

}  // namespace moraine::sim
