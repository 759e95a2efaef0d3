#include "table/model/change_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "table/model/limits.h"

namespace moraine::table {
namespace {

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::unexpected<Error> too_heavy() {
  return refuse(fmt::format("Row weight is too large: at most {} bytes", kRowWeightMax));
}
std::size_t weight(const RowChange& change) {
  return change.key.size() + change.image.size();
}

}  // namespace

ChangeSet::ChangeSet(std::shared_ptr<const RowLayout> layout, ValueRules rules)
    : layout_(std::move(layout)),
      rules_(rules),
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
  return add(std::move(change));
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
    TRY(cells_[column], to_cell(layout_->schema().columns[column], named.value, rules_, memory_));
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

Result<void> ChangeSet::add(RowChange change) {
  if (weight(change) > kRowWeightMax) return too_heavy();
  if (const auto found = by_key_.find(change.key); found != by_key_.end()) {
    return merge_into(*found->second, std::move(change));
  }
  if (changes_.size() >= kTransactionRowsMax) {
    return refuse(fmt::format("Transaction affects too many rows in tablet: at most {}",
                              kTransactionRowsMax));
  }
  bytes_ += weight(change);
  RowChange& kept = changes_.emplace_back(std::move(change));
  by_key_.emplace(kept.key, &kept);
  return {};
}

Result<void> ChangeSet::merge_into(RowChange& older, RowChange change) {
  const std::size_t before = weight(older);
  if (before + weight(change) > kRowWeightMax) {
    RowChange merged = older;
    merge_change(merged, std::move(change), layout_->schema());
    if (weight(merged) > kRowWeightMax) return too_heavy();
    older.kind = merged.kind;
    older.locks = merged.locks;
    older.image = std::move(merged.image);
  } else {
    merge_change(older, std::move(change), layout_->schema());
  }
  bytes_ = bytes_ - before + weight(older);
  return {};
}

std::vector<RowChange> ChangeSet::take() {
  by_key_.clear();
  std::vector<RowChange> changes(std::make_move_iterator(changes_.begin()),
                                 std::make_move_iterator(changes_.end()));
  changes_.clear();
  bytes_ = 0;
  if (!std::ranges::is_sorted(changes, {}, &RowChange::key)) {
    std::ranges::sort(changes, {}, &RowChange::key);
  }
  return changes;
}

}  // namespace moraine::table
