#include "table/model/ordered.h"

#include <algorithm>

#include "base/invariant.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

ColumnSchema key_column(std::string_view name) {
  ColumnSchema column;
  column.name = name;
  column.type = ColumnType::kInt64;
  column.key = true;
  return column;
}

std::uint64_t weight_of(const Value& value) {
  if (value.is_null()) return 0;
  if (value.has_text()) return value.text().size();
  return value.type() == ValueType::kBoolean ? 1 : sizeof(std::uint64_t);
}

std::optional<std::uint64_t> natural(const Value& value) {
  if (value.type() != ValueType::kInt64 || value.as_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value.as_int64());
}

std::optional<ColumnIndex> find_column(const TableSchema& schema, std::string_view name) {
  const auto found = schema.find(name);
  if (!found) return std::nullopt;
  return static_cast<ColumnIndex>(*found);
}

}  // namespace

TableSchema ordered_schema(const TableSchema& schema) {
  INVARIANT(schema.key_count() == 0, "a table with {} key columns is not ordered",
            schema.key_count());
  TableSchema stored = schema;
  stored.columns.insert(stored.columns.begin(),
                        {key_column(kTabletIndexColumn), key_column(kRowIndexColumn)});
  stored.unique_keys = true;
  return stored;
}

bool is_ordered(const TableSchema& stored) {
  return stored.columns.size() >= 2 && stored.columns[0].name == kTabletIndexColumn &&
         stored.columns[1].name == kRowIndexColumn;
}

std::string encode_place(const RowPlace& place) {
  std::string key = tablet_pivot(place.tablet);
  if (key.empty()) append_key_column(key, std::int64_t{0});
  append_key_column(key, static_cast<std::int64_t>(place.row));
  return key;
}

std::optional<RowPlace> decode_place(ByteSpan key) {
  std::vector<Value> columns;
  std::string memory;
  if (!decode_key(key, columns, memory) || columns.size() != 2) return std::nullopt;
  const auto tablet = natural(columns[0]);
  const auto row = natural(columns[1]);
  if (!tablet || !row) return std::nullopt;
  return RowPlace{*tablet, *row};
}

std::string tablet_pivot(std::uint64_t tablet) {
  std::string key;
  if (tablet > 0) append_key_column(key, static_cast<std::int64_t>(tablet));
  return key;
}

std::optional<std::uint64_t> tablet_of_pivot(std::string_view pivot) {
  if (pivot.empty()) return 0;
  std::vector<Value> columns;
  std::string memory;
  if (!decode_key(as_bytes(pivot), columns, memory) || columns.size() != 1) return std::nullopt;
  const auto tablet = natural(columns[0]);
  return tablet == 0 ? std::nullopt : tablet;
}

void set_cell(std::string& image, ColumnIndex column, const Value& value) {
  std::vector<VersionedValue> cells;
  read_image(as_bytes(image), kMinTimestamp, nullptr, cells);
  std::string filled;
  begin_image(filled);
  std::uint16_t count = 0;
  bool pending = true;
  const auto add = [&](ColumnIndex at, bool delta, const Value& cell) {
    append_cell(filled, at, delta, cell);
    ++count;
  };
  for (const VersionedValue& cell : cells) {
    if (pending && cell.column >= column) {
      add(column, false, value);
      pending = false;
    }
    if (cell.column != column) add(cell.column, cell.aggregate, cell.value);
  }
  if (pending) add(column, false, value);
  finish_image(filled, count);
  image = std::move(filled);
}

std::uint64_t data_weight(ByteSpan image, std::span<const ColumnIndex> skipped) {
  std::vector<VersionedValue> cells;
  read_image(image, kMinTimestamp, nullptr, cells);
  std::uint64_t weight = 1;
  for (const VersionedValue& cell : cells) {
    if (std::ranges::find(skipped, cell.column) == skipped.end()) weight += weight_of(cell.value);
  }
  return weight;
}

FilledColumns::FilledColumns(const TableSchema& stored)
    : timestamp_(find_column(stored, kRowTimestampColumn)),
      weight_(find_column(stored, kCumulativeWeightColumn)) {
  if (timestamp_) all_.push_back(*timestamp_);
  if (weight_) all_.push_back(*weight_);
}

RowEnd FilledColumns::place_rows(std::span<RowChange> changes, std::uint64_t tablet,
                                 RowEnd end) const {
  for (RowChange& change : changes) {
    change.key = encode_place({tablet, end.rows++});
    change.locks = {};
    if (!weight_) continue;
    end.weight += data_weight(as_bytes(change.image), all_);
    set_cell(change.image, *weight_, static_cast<std::int64_t>(end.weight));
  }
  return end;
}

RowEnd FilledColumns::end_after(std::span<const RowChange> changes) const {
  RowEnd end;
  if (changes.empty()) return end;
  const auto place = decode_place(as_bytes(changes.back().key));
  INVARIANT(place, "the key of an appended row is no place");
  end.rows = place->row + 1;
  if (!weight_) return end;
  std::vector<VersionedValue> cells;
  read_image(as_bytes(changes.back().image), kMinTimestamp, nullptr, cells);
  const auto cell = std::ranges::find(cells, *weight_, &VersionedValue::column);
  INVARIANT(cell != cells.end(), "an appended row has no weight");
  end.weight = static_cast<std::uint64_t>(cell->value.as_int64());
  return end;
}

void FilledColumns::stamp(std::span<RowChange> changes, Timestamp commit) const {
  if (!timestamp_) return;
  for (RowChange& change : changes) set_cell(change.image, *timestamp_, std::uint64_t{commit});
}

}  // namespace moraine::table
