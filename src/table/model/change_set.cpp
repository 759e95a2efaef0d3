#include "table/model/change_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "table/model/aggregate.h"

namespace moraine::table {
namespace {

constexpr std::size_t kNullCellBytes = 4;  // In an image.
constexpr std::size_t kCellBytesMax = 12;  // The same, without the bytes of a text.

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::unexpected<Error> too_heavy() {
  return refuse(fmt::format("Row weight is too large: at most {} bytes", kRowWeightMax));
}
// Orders as keys do, as far as it goes.
std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t word = 0;
  std::memcpy(&word, key.data(), std::min(key.size(), sizeof word));
  return __builtin_bswap64(word);
}

std::size_t weight(const RowChange& change) {
  return change.key.size() + change.image.size();
}

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

ChangeSet::ChangeSet(std::shared_ptr<const RowLayout> layout, ValueRules rules, ChangeLimits limits)
    : layout_(std::move(layout)),
      rules_(rules),
      limits_(std::move(limits)),
      tallies_(limits_.pivots.size() + 1),
      cells_(layout_->schema().columns.size()),
      given_(cells_.size()) {}

Result<void> ChangeSet::insert(NamedRow row, InsertOptions options) {
  memory_.clear();
  TRY_VOID(read_row(row, options));
  TRY_VOID(check_required(options.update));
  RowChange change;
  const std::span<Value> key(cells_.data(), layout_->key_count());
  TRY(change.key, layout_->encode_key_of(key, memory_));
  change.kind = ChangeKind::kWrite;
  write_image(options, change);
  TRY_VOID(check_row_size(change));
  return add(std::move(change));
}

// Rejects a row that fits no transaction; the error names its longest value.
Result<void> ChangeSet::check_row_size(const RowChange& change) const {
  const std::size_t bytes = change_bytes(change);
  if (bytes <= limits_.bytes) return {};
  const auto length = [](const Value& cell) { return cell.has_text() ? cell.text().size() : 0; };
  const auto longest = std::ranges::max_element(cells_, {}, length);
  const ColumnSchema& column =
      layout_->schema().columns[static_cast<std::size_t>(longest - cells_.begin())];
  return refuse(
      fmt::format("Row is too large: {} bytes, of them {} in column \"{}\"; at most {} "
                  "bytes of a transaction fit into a tablet",
                  bytes, length(*longest), column.name, limits_.bytes));
}

Result<void> ChangeSet::read_row(NamedRow row, const InsertOptions& options) {
  if (row.size() > kColumnsMax) return refuse("Too many values in row");
  std::ranges::fill(cells_, Value());
  std::ranges::fill(given_, std::uint8_t{0});
  bool values = false;
  for (const NamedValue& named : row) {
    TRY(const ColumnIndex column, layout_->find(named.name));
    if (given_[column] != 0) return refuse(fmt::format("Column \"{}\" is given twice", named.name));
    given_[column] = 1;
    values = values || column >= layout_->key_count();
    if (named.value.has_text() && named.value.text().size() > limits_.bytes) {
      return refuse(
          fmt::format("Column \"{}\": value is too long: {} bytes; at most {} bytes of a "
                      "transaction fit into a tablet",
                      named.name, named.value.text().size(), limits_.bytes));
    }
    TRY(cells_[column], layout_->to_cell(column, named.value, rules_, memory_));
  }
  if (options.update && !values) return refuse("At least one non-key column must be specified");
  return {};
}

Result<void> ChangeSet::check_required(bool update) const {
  const std::vector<ColumnSchema>& columns = layout_->schema().columns;
  for (std::size_t i = layout_->key_count(); i < columns.size(); ++i) {
    if (!columns[i].required || given_[i] != 0) continue;
    if (update) return refuse(fmt::format("Missing required column \"{}\"", columns[i].name));
    return refuse(
        fmt::format("Required column \"{}\" cannot have \"null\" value", columns[i].name));
  }
  return {};
}

void ChangeSet::write_image(const InsertOptions& options, RowChange& change) const {
  const std::vector<ColumnSchema>& columns = layout_->schema().columns;
  std::size_t size = sizeof(std::uint16_t);
  for (std::size_t i = layout_->key_count(); i < columns.size(); ++i) {
    const Value& cell = cells_[i];
    if (!cell.is_null()) {
      size += kCellBytesMax + (cell.has_text() ? cell.text().size() : 0);
    } else if (given_[i] != 0 || !options.update) {
      size += kNullCellBytes;
    }
  }
  change.image.reserve(size);
  begin_image(change.image);
  std::uint16_t count = 0;
  for (std::size_t i = layout_->key_count(); i < columns.size(); ++i) {
    const auto column = static_cast<ColumnIndex>(i);
    const bool given = given_[i] != 0;
    if (!given && options.update) continue;
    change.locks.add(layout_->lock_of(column), options.lock);
    const bool aggregates = columns[i].aggregate != Aggregate::kNone;
    const bool delta = given && options.aggregate && aggregates;
    if ((!given && aggregates) || (delta && cells_[i].is_null())) continue;
    append_cell(change.image, column, delta, cells_[i]);
    ++count;
  }
  finish_image(change.image, count);
}

Result<void> ChangeSet::erase(NamedRow key) {
  TRY(std::string encoded, encode_lookup_key(*layout_, key, rules_));
  return add_erase(std::move(encoded));
}

Result<void> ChangeSet::erase(Key key) {
  TRY(std::string encoded, encode_lookup_key(*layout_, key, rules_));
  return add_erase(std::move(encoded));
}

Result<void> ChangeSet::add_erase(std::string key) {
  RowChange change;
  change.key = std::move(key);
  change.kind = ChangeKind::kDelete;
  change.locks.add(0, LockMode::kExclusive);
  return add(std::move(change));
}

Result<void> ChangeSet::lock(NamedRow key, std::span<const std::string> locks, LockMode mode) {
  TRY(std::string encoded, encode_lookup_key(*layout_, key, rules_));
  return add_lock(std::move(encoded), locks, mode);
}

Result<void> ChangeSet::lock(Key key, std::span<const std::string> locks, LockMode mode) {
  TRY(std::string encoded, encode_lookup_key(*layout_, key, rules_));
  return add_lock(std::move(encoded), locks, mode);
}

Result<void> ChangeSet::add_lock(std::string key, std::span<const std::string> locks,
                                 LockMode mode) {
  if (mode == LockMode::kNone) return refuse("A lock has a mode");
  RowChange change;
  change.key = std::move(key);
  change.kind = ChangeKind::kLock;
  if (locks.empty()) change.locks.add(0, mode);
  for (const std::string& name : locks) {
    const auto lock = layout_->find_lock(name);
    if (!lock) return refuse(fmt::format("No lock \"{}\" in table schema", name));
    change.locks.add(*lock, mode);
  }
  return add(std::move(change));
}

ChangeSet::Tally& ChangeSet::tally_of(const std::string& key) {
  const auto after = std::ranges::upper_bound(limits_.pivots, key);
  return tallies_[static_cast<std::size_t>(after - limits_.pivots.begin())];
}

std::unexpected<Error> ChangeSet::too_many_bytes(std::size_t bytes) const {
  return refuse(
      fmt::format("Transaction affects too many bytes in tablet: {} with this row, at most {}",
                  bytes, limits_.bytes));
}

Result<void> ChangeSet::add(RowChange change) {
  if (weight(change) > kRowWeightMax) return too_heavy();
  Tally& tally = tally_of(change.key);
  // The key has its place before it is known whether it was there: it is looked up once.
  RowChange& kept = changes_.emplace_back(std::move(change));
  const auto [known, is_new] = by_key_.try_emplace(kept.key, &kept);
  if (!is_new) {
    RowChange newer = std::move(kept);
    changes_.pop_back();
    return merge_into(*known->second, std::move(newer), tally);
  }
  const std::size_t bytes = tally.bytes + change_bytes(kept);
  const bool has_room = tally.rows < limits_.rows;
  if (!has_room || bytes > limits_.bytes) {
    by_key_.erase(known);
    changes_.pop_back();
    if (has_room) return too_many_bytes(bytes);
    return refuse(
        fmt::format("Transaction affects too many rows in tablet: at most {}", limits_.rows));
  }
  tally = {tally.rows + 1, bytes};
  bytes_ += weight(kept);
  return {};
}

Result<void> ChangeSet::merge_into(RowChange& older, RowChange change, Tally& tally) {
  const std::size_t before = weight(older);
  const std::size_t others = tally.bytes - change_bytes(older);
  // A write after a delete sets unnamed columns to null.
  const std::size_t nulls = cells_.size() * kNullCellBytes;
  const TableSchema& schema = layout_->schema();
  const bool may_grow = std::ranges::find(schema.columns, Aggregate::kXdelta,
                                          &ColumnSchema::aggregate) != schema.columns.end();
  const bool fits = !may_grow && before + weight(change) + nulls <= kRowWeightMax &&
                    tally.bytes + change_bytes(change) + nulls <= limits_.bytes;
  if (fits) {
    merge_change(older, std::move(change), schema);
  } else {
    RowChange merged = older;
    merge_change(merged, std::move(change), schema);
    if (weight(merged) > kRowWeightMax) return too_heavy();
    const std::size_t bytes = others + change_bytes(merged);
    if (bytes > limits_.bytes) return too_many_bytes(bytes);
    older.kind = merged.kind;
    older.locks = merged.locks;
    older.image = std::move(merged.image);
  }
  bytes_ = bytes_ - before + weight(older);
  tally.bytes = others + change_bytes(older);
  return {};
}

std::vector<RowChange> ChangeSet::take() {
  by_key_.clear();
  // Changes are large: they move once, when their order is known.
  struct Place {
    std::uint64_t begin;
    RowChange* change;
    bool operator<(const Place& other) const {
      return begin != other.begin ? begin < other.begin : change->key < other.change->key;
    }
  };
  std::vector<Place> order;
  order.reserve(changes_.size());
  for (RowChange& change : changes_) order.push_back({first_bytes(change.key), &change});
  if (!std::ranges::is_sorted(order, std::less())) std::ranges::sort(order, std::less());
  std::vector<RowChange> changes;
  changes.reserve(order.size());
  for (const Place& place : order) changes.push_back(std::move(*place.change));
  changes_.clear();
  tallies_.assign(tallies_.size(), Tally());
  bytes_ = 0;
  return changes;
}

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
