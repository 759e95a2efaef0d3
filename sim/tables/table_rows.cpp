#include "sim/tables/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace moraine::sim {
namespace {

using table::ChangeKind;
using table::ColumnIndex;
using table::LockMode;

constexpr ColumnIndex kWriter = 1;
constexpr ColumnIndex kValue = 2;
constexpr ColumnIndex kSum = 3;
constexpr ColumnIndex kText = 4;
constexpr ColumnIndex kLeft = 5;
constexpr ColumnIndex kRight = 6;
constexpr std::size_t kLeftLock = 1;
constexpr std::size_t kRightLock = 2;

ColumnSchema column(std::string name, ColumnType type) {
  ColumnSchema made;
  made.name = std::move(name);
  made.type = type;
  return made;
}

std::string text(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "null";
}

}  // namespace

std::string to_string(const RowName& row) {
  return fmt::format("table {} key {}", row.table, row.key);
}

std::string to_string(const SeenRow& row) {
  if (!row.exists) return "no row";
  return fmt::format("writer {} value {} sum {} left {} right {} extra {}", text(row.writer),
                     text(row.value), text(row.sum), text(row.left), text(row.right),
                     text(row.extra));
}

Halves changed_halves(const PlannedChange& change) {
  switch (change.kind) {
    case PlannedKind::kLeft: return kLeftHalf;
    case PlannedKind::kRight: return kRightHalf;
    case PlannedKind::kReadLock: return 0;
    default: return kWholeRow;
  }
}

Halves read_halves(const PlannedChange& change) {
  const bool whole = change.kind == PlannedKind::kReadLock && change.locked == 0;
  return whole ? kWholeRow : change.locked;
}

std::vector<TabletId> TableLayout::table_tablets() const {
  std::vector<TabletId> all;
  for (std::size_t t = 0; t < tables; ++t) {
    for (std::size_t r = 0; r < ranges; ++r) all.push_back({kFirstTable + t * kRangesMax + r});
  }
  return all;
}

std::vector<TabletId> TableLayout::coordinator_tablets() const {
  std::vector<TabletId> all;
  for (std::size_t i = 0; i < coordinators; ++i) all.push_back({kFirstCoordinator + i});
  return all;
}

std::vector<TabletId> TableLayout::all_tablets() const {
  std::vector<TabletId> all = {kOracle};
  for (const TabletId id : coordinator_tablets()) all.push_back(id);
  for (const TabletId id : table_tablets()) all.push_back(id);
  return all;
}

TabletId TableLayout::tablet_of(const RowName& row) const {
  const auto range =
      static_cast<std::uint64_t>(row.key) * ranges / static_cast<std::uint64_t>(keys);
  return {kFirstTable + row.table * kRangesMax + range};
}

std::uint32_t TableLayout::table_of(TabletId tablet) const {
  return static_cast<std::uint32_t>((tablet.value - kFirstTable) / kRangesMax);
}

std::vector<RowName> TableLayout::rows_of(TabletId tablet) const {
  std::vector<RowName> rows;
  for (std::int64_t key = 0; key < keys; ++key) {
    const RowName row{table_of(tablet), key};
    if (tablet_of(row) == tablet) rows.push_back(row);
  }
  return rows;
}

table::KeyBounds TableLayout::bounds_of(TabletId tablet) const {
  const std::vector<RowName> rows = rows_of(tablet);
  table::KeyBounds bounds;
  if (rows.front().key > 0) bounds.from = key_of(rows.front());
  if (rows.back().key + 1 < keys) bounds.to = key_of({rows.back().table, rows.back().key + 1});
  return bounds;
}

std::vector<RowName> TableLayout::rows(RowSort sort) const {
  std::vector<RowName> rows;
  for (std::uint32_t t = 0; t < tables; ++t) {
    for (std::int64_t key = 0; key < keys; ++key) {
      if (sort_of({t, key}) == sort) rows.push_back({t, key});
    }
  }
  return rows;
}

TableSchema campaign_schema(std::optional<std::uint64_t> inline_bytes_max) {
  TableSchema schema;
  schema.columns = {column("k", ColumnType::kInt64),  column("w", ColumnType::kInt64),
                    column("v", ColumnType::kInt64),  column("s", ColumnType::kInt64),
                    column("t", ColumnType::kString), column("l", ColumnType::kInt64),
                    column("r", ColumnType::kInt64)};
  schema.columns[0].key = true;
  schema.columns[kSum].aggregate = Aggregate::kSum;
  schema.columns[kText].max_inline_hunk_size = inline_bytes_max;
  schema.columns[kLeft].lock = "left";
  schema.columns[kRight].lock = "right";
  return schema;
}

std::vector<ColumnIndex> value_columns() {
  return {kWriter, kValue, kSum, kText, kLeft, kRight};
}

std::string key_of(const RowName& row) {
  std::string key;
  table::append_key_column(key, Value(row.key));
  return key;
}

table::RowChange change_of(const PlannedChange& planned, std::uint64_t transaction) {
  table::RowChange change;
  change.key = key_of(planned.row);
  const auto number = static_cast<std::int64_t>(transaction);
  switch (planned.kind) {
    case PlannedKind::kPut: {
      const std::string padding(planned.text_bytes, static_cast<char>('a' + transaction % 26));
      table::begin_image(change.image);
      table::append_cell(change.image, kWriter, false, Value(number));
      table::append_cell(change.image, kValue, false, Value(planned.value));
      table::append_cell(change.image, kText, false, Value(std::string_view(padding)));
      table::finish_image(change.image, 3);
      change.locks.add(0, LockMode::kExclusive);
      break;
    }
    case PlannedKind::kDelete:
      change.kind = ChangeKind::kDelete;
      change.locks.add(0, LockMode::kExclusive);
      break;
    case PlannedKind::kDelta:
    case PlannedKind::kSharedDelta:
      table::begin_image(change.image);
      table::append_cell(change.image, kSum, true, Value(number));
      table::finish_image(change.image, 1);
      change.locks.add(
          0, planned.kind == PlannedKind::kDelta ? LockMode::kExclusive : LockMode::kSharedWrite);
      break;
    case PlannedKind::kLeft:
    case PlannedKind::kRight: {
      const bool left = planned.kind == PlannedKind::kLeft;
      table::begin_image(change.image);
      table::append_cell(change.image, left ? kLeft : kRight, false, Value(number));
      table::finish_image(change.image, 1);
      change.locks.add(left ? kLeftLock : kRightLock, LockMode::kExclusive);
      break;
    }
    case PlannedKind::kReadLock: change.kind = ChangeKind::kLock; break;
  }
  const LockMode mode = planned.weak ? LockMode::kSharedWeak : LockMode::kSharedStrong;
  const Halves locked = read_halves(planned);
  if (locked == kWholeRow) {
    change.locks.add(0, mode);
  } else if (locked != 0) {
    change.locks.add(locked == kLeftHalf ? kLeftLock : kRightLock, mode);
  }
  return change;
}

SeenRow seen_row(std::span<const Value> cells) {
  SeenRow seen;
  seen.exists = true;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].type() == ValueType::kInt64) show_cell(seen, i, cells[i].as_int64());
  }
  return seen;
}

void show_cell(SeenRow& row, std::size_t i, std::int64_t value) {
  switch (i) {
    case 0: row.writer = value; break;
    case 1: row.value = value; break;
    case 2: row.sum = value; break;
    case 4: row.left = value; break;
    case 5: row.right = value; break;
    case 6: row.extra = value; break;
    default: break;  // The text.
  }
}

TransactionId transaction_id(std::uint64_t number) {
  TransactionId id;
  std::memcpy(id.bytes.data(), &number, sizeof(number));
  return id;
}

std::vector<FoundVersion> versions_of(const table::OwnedVersionedRow& row,
                                      const TableSchema& schema) {
  std::map<Timestamp, FoundVersion> versions;
  for (const Timestamp at : row.row.write_timestamps) versions[at].at = at;
  for (const Timestamp at : row.row.delete_timestamps) {
    versions[at].at = at;
    versions[at].deleted = true;
  }
  for (const table::VersionedValue& value : row.row.values) {
    if (value.value.type() != ValueType::kInt64) continue;
    FoundVersion& version = versions[value.timestamp];
    version.at = value.timestamp;
    const std::string& name = schema.columns[value.column].name;
    if (name == "w") version.writer = value.value.as_int64();
    if (name == "s") version.delta = value.value.as_int64();
    if (name == "l" || name == "r") version.half = value.value.as_int64();
  }
  std::vector<FoundVersion> all;
  for (const auto& [at, version] : versions) all.push_back(version);
  return all;
}

}  // namespace moraine::sim
