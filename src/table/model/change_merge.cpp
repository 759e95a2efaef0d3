#include <utility>

#include "table/model/aggregate.h"
#include "table/model/change_set.h"

namespace moraine::table {
namespace {

using Cells = std::vector<VersionedValue>;

Cells cells_of(const std::string& image) {
  Cells cells;
  read_image(as_bytes(image), kNullTimestamp, nullptr, cells);
  return cells;
}

std::string to_image(const Cells& cells) {
  std::string image;
  begin_image(image);
  for (const VersionedValue& cell : cells) {
    append_cell(image, cell.column, cell.aggregate, cell.value);
  }
  finish_image(image, static_cast<std::uint16_t>(cells.size()));
  return image;
}

// A write after a delete: unnamed columns are null, and its deltas are values.
std::string after_delete(const std::string& image, const TableSchema& schema) {
  const Cells given = cells_of(image);
  Cells cells;
  std::size_t next = 0;
  for (std::size_t i = schema.key_count(); i < schema.columns.size(); ++i) {
    VersionedValue cell;
    cell.column = static_cast<ColumnIndex>(i);
    if (next < given.size() && given[next].column == cell.column) cell.value = given[next++].value;
    cells.push_back(cell);
  }
  return to_image(cells);
}

std::string merge_images(const std::string& older, const std::string& newer,
                         const TableSchema& schema) {
  const Cells before = cells_of(older);
  const Cells after = cells_of(newer);
  Cells cells;
  TextMemory memory;
  auto old_cell = before.begin();
  for (const VersionedValue& cell : after) {
    for (; old_cell != before.end() && old_cell->column < cell.column; ++old_cell) {
      cells.push_back(*old_cell);
    }
    cells.push_back(cell);
    if (old_cell == before.end() || old_cell->column != cell.column) continue;
    if (cell.aggregate) {
      cells.back().value =
          fold(schema.columns[cell.column].aggregate, old_cell->value, cell.value, memory);
      cells.back().aggregate = old_cell->aggregate;
    }
    ++old_cell;
  }
  cells.insert(cells.end(), old_cell, before.end());
  return to_image(cells);
}

}  // namespace

void merge_change(RowChange& older, RowChange&& newer, const TableSchema& schema) {
  for (std::size_t i = 0; i < kLocksMax; ++i) older.locks.add(i, newer.locks.modes[i]);
  switch (newer.kind) {
    case ChangeKind::kLock: return;
    case ChangeKind::kDelete:
      older.kind = ChangeKind::kDelete;
      older.image.clear();
      return;
    case ChangeKind::kWrite: break;
  }
  switch (older.kind) {
    case ChangeKind::kLock: older.image = std::move(newer.image); break;
    case ChangeKind::kDelete: older.image = after_delete(newer.image, schema); break;
    case ChangeKind::kWrite: older.image = merge_images(older.image, newer.image, schema); break;
  }
  older.kind = ChangeKind::kWrite;
}

}  // namespace moraine::table
