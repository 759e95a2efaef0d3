#include "query/execute/group.h"

#include <algorithm>

#include "query/execute/flow.h"

namespace moraine::query {

Grouper::Grouper(const Group& group) : group_(group), keys_(compile(std::span(group.keys))) {
  one_group_ = std::ranges::all_of(group.keys, &Expression::is_literal);
  for (const AggregateCall& call : group.aggregates) {
    arguments_.push_back(compile(std::span(call.arguments)));
    results_.push_back(std::make_unique<ColumnBuffer>());
  }
  table_ = std::make_unique<GroupTable>(types_of(group.keys));
}

Result<void> Grouper::prepare() {
  if (prepared_) return {};
  prepared_ = true;
  for (const AggregateCall& call : group_.aggregates) {
    TRY(aggregators_.emplace_back(), make_aggregator(call));
  }
  return {};
}

std::size_t Grouper::bytes() const {
  std::size_t bytes = table_->bytes();
  for (const auto& aggregator : aggregators_) bytes += aggregator->bytes();
  return bytes;
}

Result<void> Grouper::check_keys(const std::vector<Column>& keys, const Selection& rows) const {
  for (const Column& key : keys) {
    TRY_VOID(refuse_nan(key, rows));
    if (group_.totals == Totals::kNone) continue;
    for (std::size_t i = 0; i < rows.count; ++i) {
      if (key.type != ValueType::kNull && !key.is_null(rows[i])) continue;
      return fail(Errc::kInvalidArgument, "Null values are forbidden in group key");
    }
  }
  return {};
}

Result<void> Grouper::find(const std::vector<Column>& keys, const Selection& rows) {
  if (one_group_ && table_->size() == 1) {
    ids_.resize(std::max(ids_.size(), rows.count));  // All 0.
    return {};
  }
  ids_.resize(std::max(ids_.size(), rows.count));
  TRY_VOID(check_keys(keys, rows));
  if (!table_->find(keys, rows, ids_.data())) {
    return fail(Errc::kOverloaded, "GROUP BY has too many groups");
  }
  for (const auto& aggregator : aggregators_) aggregator->resize(table_->size());
  return {};
}

Result<void> Grouper::add(const Batch& batch, const Selection& rows, std::uint64_t position) {
  if (rows.count == 0) return {};
  TRY_VOID(prepare());
  key_columns_.clear();
  for (const KernelPtr& key : keys_) {
    TRY(const Column column, key->eval(batch, rows));
    key_columns_.push_back(column);
  }
  TRY_VOID(find(key_columns_, rows));
  const GroupedRows grouped{
      .rows = rows, .ids = ids_.data(), .position = position, .one_group = one_group_};
  for (std::size_t i = 0; i < aggregators_.size(); ++i) {
    argument_columns_.clear();
    for (const KernelPtr& argument : arguments_[i]) {
      TRY(const Column column, argument->eval(batch, rows));
      argument_columns_.push_back(column);
    }
    TRY_VOID(aggregators_[i]->add(argument_columns_, grouped));
  }
  return {};
}

Result<void> Grouper::merge(const Grouper& other) {
  if (other.groups() == 0) return {};
  TRY_VOID(prepare());
  const RowStore& keys = other.table_->keys();
  std::vector<std::uint32_t> ids(keys.rows());
  for (std::size_t first = 0; first < keys.rows(); first += kVectorRows) {
    const std::size_t count = std::min(kVectorRows, keys.rows() - first);
    const Batch batch = keys.view(first, count);
    TRY_VOID(find(batch.columns, Selection::all(count)));
    std::copy_n(ids_.begin(), count, ids.begin() + static_cast<std::ptrdiff_t>(first));
  }
  for (std::size_t i = 0; i < aggregators_.size(); ++i) {
    TRY_VOID(aggregators_[i]->merge(*other.aggregators_[i], ids));
  }
  return {};
}

Batch Grouper::view(std::size_t first, std::size_t count) {
  Batch batch = table_->keys().view(first, count);
  for (std::size_t i = 0; i < aggregators_.size(); ++i) {
    batch.columns.push_back(aggregators_[i]->values(first, count, *results_[i]));
  }
  return batch;
}

Result<void> Grouper::finish(const Out& out, RowStore& totals) {
  const std::size_t groups = table_->size();
  for (const auto& aggregator : aggregators_) {
    TRY_VOID(aggregator->finish());
  }
  KernelPtr having = group_.having ? compile(*group_.having) : nullptr;
  std::vector<std::uint32_t> counted(group_.totals == Totals::kNone ? 0 : groups, kNoGroup);
  bool any_counted = false;
  SelectionBuffer kept;
  for (std::size_t first = 0; first < groups; first += kVectorRows) {
    const std::size_t count = std::min(kVectorRows, groups - first);
    const Batch batch = view(first, count);
    Selection rows = Selection::all(count);
    if (having) {
      TRY(const std::size_t passing, having->filter(batch, rows, kept.rows()));
      rows = {.rows = kept.rows(), .count = passing};
    }
    TRY_VOID(out(batch, rows));
    if (group_.totals == Totals::kNone) continue;
    const bool before = group_.totals == Totals::kBeforeHaving;
    const Selection in_totals = before ? Selection::all(count) : rows;
    for_each(in_totals, [&](std::size_t row) { counted[first + row] = 0; });
    any_counted = any_counted || in_totals.count > 0;
  }
  if (!any_counted) return {};
  return add_totals(counted, totals);
}

Result<void> Grouper::add_totals(const std::vector<std::uint32_t>& counted,
                                 RowStore& totals) const {
  Batch batch{.rows = 1, .columns = {}};
  for (const Expression& key : group_.keys) batch.columns.push_back(constant_null(key.type));
  std::vector<std::unique_ptr<Aggregator>> all;
  std::vector<std::unique_ptr<ColumnBuffer>> buffers;
  for (std::size_t i = 0; i < aggregators_.size(); ++i) {
    TRY(all.emplace_back(), make_aggregator(group_.aggregates[i]));
    all.back()->resize(1);
    TRY_VOID(all.back()->merge(*aggregators_[i], counted));
    TRY_VOID(all.back()->finish());
    buffers.push_back(std::make_unique<ColumnBuffer>());
    batch.columns.push_back(all.back()->values(0, 1, *buffers.back()));
  }
  totals.append(batch, Selection::all(1));
  return {};
}

}  // namespace moraine::query
