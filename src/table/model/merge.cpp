#include "table/model/merge.h"

#include <algorithm>
#include <functional>

#include "table/model/aggregate.h"

namespace moraine::table {
namespace {

constexpr std::ptrdiff_t kInsertionSortMax = 32;

// By column, then newest first.
bool before(const VersionedValue& a, const VersionedValue& b) {
  if (a.column != b.column) return a.column < b.column;
  return a.timestamp > b.timestamp;
}

// Ranges are mostly short and nearly sorted.
template <class T, class Before>
void sort_unique(std::vector<T>& items, Before less) {
  if (items.size() < 2) return;
  // Strictly ascending: neither disorder nor repetition.
  const bool done = std::ranges::adjacent_find(
                        items, [&](const T& a, const T& b) { return !less(a, b); }) == items.end();
  if (done) return;
  if (std::ssize(items) > kInsertionSortMax) {
    std::ranges::sort(items, less);
  } else {
    for (auto at = items.begin() + 1; at != items.end(); ++at) {
      std::rotate(std::upper_bound(items.begin(), at, *at, less), at, at + 1);
    }
  }
  const auto repeated = [&](const T& a, const T& b) { return !less(a, b) && !less(b, a); };
  items.erase(std::unique(items.begin(), items.end(), repeated), items.end());
}

template <class T, class Less>
void merge_two(std::span<const T> a, std::span<const T> b, std::vector<T>& out, Less less) {
  out.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(out), less);
}

// The newest timestamp at or below `at`; 0: none.
Timestamp newest_at(std::span<const Timestamp> timestamps, Timestamp at) {
  for (const Timestamp timestamp : timestamps) {
    if (timestamp <= at) return timestamp;
  }
  return 0;
}

// Folds the parts from `newest` on, older parts of the column following it, down to `floor`.
Value fold_parts(const VersionedValue* newest, const VersionedValue* end, Timestamp floor,
                 const TableSchema& schema, TextMemory& memory) {
  const ColumnIndex column = newest->column;
  const VersionedValue* part = newest;
  while (part->aggregate && part + 1 != end && part[1].column == column &&
         part[1].timestamp >= floor) {
    ++part;
  }
  Folding folding(schema.columns[column].aggregate);
  folding.add(part->value);
  while (part != newest) folding.add((--part)->value);
  return folding.total(memory);
}

void put(Value& out, const Value& value, Timestamp, bool) {
  out = value;
}
void put(VisibleCell& out, const Value& value, Timestamp timestamp, bool hunk) {
  out = {value, timestamp, hunk};
}

template <class Cell>
bool read_cells(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
                const TableSchema& schema, std::span<const ColumnIndex> wanted, Cell* out,
                TextMemory& memory) {
  const Timestamp written = newest_at(row.write_timestamps, timestamp);
  const Timestamp deleted = newest_at(row.delete_timestamps, timestamp);
  if (written <= deleted || written < retention_timestamp) return false;
  const Timestamp floor = std::max(deleted + 1, retention_timestamp);
  const VersionedValue* const begin = row.values.data();
  const VersionedValue* const end = begin + row.values.size();
  const VersionedValue* at = begin;
  ColumnIndex previous = 0;
  for (const ColumnIndex column : wanted) {
    if (column < previous) at = begin;
    previous = column;
    while (at != end && at->column < column) ++at;
    const VersionedValue* newest = at;
    while (newest != end && newest->column == column && newest->timestamp > timestamp) ++newest;
    if (newest == end || newest->column != column || newest->timestamp < floor) {
      put(*out++, Value(), 0, false);
    } else if (!newest->aggregate) {
      put(*out++, newest->value, newest->timestamp, newest->hunk);
    } else {
      const Value total = fold_parts(newest, end, floor, schema, memory);
      put(*out++, total, newest->timestamp, false);
    }
  }
  return true;
}

}  // namespace

void merge_rows(std::span<const VersionedRow> rows, RowBuilder& out) {
  out.clear();
  if (rows.empty()) return;
  out.key = rows[0].key;
  if (rows.size() == 2) {
    merge_two(rows[0].values, rows[1].values, out.values, before);
    merge_two(rows[0].write_timestamps, rows[1].write_timestamps, out.write_timestamps,
              std::greater<>());
    merge_two(rows[0].delete_timestamps, rows[1].delete_timestamps, out.delete_timestamps,
              std::greater<>());
    for (const VersionedRow& row : rows) {
      out.folded.insert(out.folded.end(), row.folded.begin(), row.folded.end());
    }
    return;
  }
  for (const VersionedRow& row : rows) {
    out.folded.insert(out.folded.end(), row.folded.begin(), row.folded.end());
    out.values.insert(out.values.end(), row.values.begin(), row.values.end());
    out.write_timestamps.insert(out.write_timestamps.end(), row.write_timestamps.begin(),
                                row.write_timestamps.end());
    out.delete_timestamps.insert(out.delete_timestamps.end(), row.delete_timestamps.begin(),
                                 row.delete_timestamps.end());
  }
  if (rows.size() > 1) order_row(out);
}

void order_row(RowBuilder& row) {
  sort_unique(row.values, before);
  sort_unique(row.write_timestamps, std::greater<>());
  sort_unique(row.delete_timestamps, std::greater<>());
}

bool read_visible(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
                  const TableSchema& schema, std::span<const ColumnIndex> wanted, Value* out,
                  TextMemory& memory) {
  return read_cells(row, timestamp, retention_timestamp, schema, wanted, out, memory);
}

bool read_visible(const VersionedRow& row, Timestamp timestamp, Timestamp retention_timestamp,
                  const TableSchema& schema, std::span<const ColumnIndex> wanted, VisibleCell* out,
                  TextMemory& memory) {
  return read_cells(row, timestamp, retention_timestamp, schema, wanted, out, memory);
}

bool read_versions(const VersionedRow& row, Timestamp timestamp, const ColumnSet* columns,
                   RowBuilder& out) {
  out.clear();
  out.key = row.key;
  for (const VersionedValue& value : row.values) {
    if (value.timestamp > timestamp) continue;
    if (columns == nullptr || columns->has(value.column)) out.values.push_back(value);
  }
  const auto visible = [timestamp](Timestamp at) { return at <= timestamp; };
  std::ranges::copy_if(row.write_timestamps, std::back_inserter(out.write_timestamps), visible);
  std::ranges::copy_if(row.delete_timestamps, std::back_inserter(out.delete_timestamps), visible);
  return !out.empty();
}

}  // namespace moraine::table
