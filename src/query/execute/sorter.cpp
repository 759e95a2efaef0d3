#include "query/execute/sorter.h"

#include <algorithm>
#include <numeric>

namespace moraine::query {
namespace {

std::vector<ValueType> stored_types(const Order& order, std::span<const ValueType> types) {
  std::vector<ValueType> stored(types.begin(), types.end());
  for (const OrderKey& key : order.keys) {
    if (key.expression.kind != ExpressionKind::kColumn) stored.push_back(key.expression.type);
  }
  return stored;
}

std::uint64_t text_prefix(std::string_view text) {
  std::uint64_t word = 0;
  __builtin_memcpy(&word, text.data(), std::min(text.size(), sizeof(word)));
  return __builtin_bswap64(word);
}

}  // namespace

Sorter::Sorter(const Order& order, std::span<const ValueType> types, std::uint64_t rows_max)
    : width_(types.size()), rows_max_(rows_max), rows_(stored_types(order, types)) {
  std::size_t next = types.size();
  for (const OrderKey& key : order.keys) {
    const bool column = key.expression.kind == ExpressionKind::kColumn;
    kernels_.push_back(compile(key.expression));
    keys_.push_back(
        {.column = column ? key.expression.column : next++, .descending = key.descending});
  }
}

std::size_t Sorter::bytes() const {
  return rows_.bytes() + prefixes_.capacity() * sizeof(std::uint64_t);
}

std::uint64_t Sorter::prefix_of(const Column& key, std::size_t row) const {
  std::uint64_t prefix = 0;
  if (key.type != ValueType::kNull && !key.is_null(row)) {
    const std::size_t at = key.at(row);
    prefix = is_text(key.type) ? text_prefix(key.text(row)) : ordered(key.type, key.words[at]);
  }
  return keys_[0].descending ? ~prefix : prefix;
}

bool Sorter::is_before(std::uint32_t a, std::uint32_t b) const {
  if (prefixes_[a] != prefixes_[b]) return prefixes_[a] < prefixes_[b];
  for (const Key& key : keys_) {
    const Column column = rows_.column(key.column);
    const auto order = compare(column.value(a), column.value(b));
    if (order != 0) return key.descending ? order > 0 : order < 0;
  }
  return false;
}

bool Sorter::beats_bound(std::span<const Column> keys, std::size_t row) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto order = compare(keys[i].value(row), bound_[i]);
    if (order != 0) return keys_[i].descending ? order > 0 : order < 0;
  }
  return false;
}

Result<void> Sorter::add(const Batch& batch, const Selection& rows) {
  if (rows.count == 0 || rows_max_ == 0) return {};
  key_columns_.clear();
  columns_.assign(batch.columns.begin(), batch.columns.end());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    TRY(const Column column, kernels_[i]->eval(batch, rows));
    TRY_VOID(refuse_nan(column, rows));
    key_columns_.push_back(column);
    if (keys_[i].column >= width_) columns_.push_back(column);
  }
  Selection passing = rows;
  if (bounded_) {
    std::uint32_t* const kept = kept_.rows();
    std::size_t count = 0;
    for_each(rows, [&](std::size_t row) {
      const std::uint64_t prefix = prefix_of(key_columns_[0], row);
      const bool passes =
          prefix < bound_prefix_ || (prefix == bound_prefix_ && beats_bound(key_columns_, row));
      kept[count] = static_cast<std::uint32_t>(row);
      count += passes ? 1 : 0;
    });
    passing = {.rows = kept, .count = count};
  }
  if (passing.count == 0) return {};
  for_each(passing, [&](std::size_t row) { prefixes_.push_back(prefix_of(key_columns_[0], row)); });
  rows_.append(columns_, passing);
  if (rows_.rows() / 2 >= rows_max_ && rows_.rows() >= kVectorRows) keep_best();
  return {};
}

std::vector<std::uint32_t> Sorter::best() const {
  std::vector<std::uint32_t> order(rows_.rows());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > rows_max_) {
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(rows_max_);
    std::nth_element(order.begin(), end - 1, order.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return is_before(a, b); });
    order.erase(end, order.end());
  }
  return order;
}

void Sorter::keep_best() {
  const std::vector<std::uint32_t> kept = best();
  RowStore next(rows_.types());
  // Copied, so that texts of rows that are dropped are freed.
  next.append(rows_.view(0, rows_.rows()), {.rows = kept.data(), .count = kept.size()});
  std::vector<std::uint64_t> prefixes;
  for (const std::uint32_t row : kept) prefixes.push_back(prefixes_[row]);
  rows_ = std::move(next);
  prefixes_ = std::move(prefixes);
  bounded_ = true;
  // The last one that best() kept is the worst.
  const std::size_t worst = rows_.rows() - 1;
  bound_prefix_ = prefixes_[worst];
  bound_.clear();
  for (const Key& key : keys_) bound_.push_back(rows_.value(key.column, worst));
}

void Sorter::merge(const Sorter& other) {
  const std::vector<std::uint32_t> rows = other.best();
  rows_.append_rows(other.rows_, rows);
  for (const std::uint32_t row : rows) prefixes_.push_back(other.prefixes_[row]);
}

void Sorter::finish(std::uint64_t offset, RowStore& out) {
  std::vector<std::uint32_t> order = best();
  std::ranges::sort(order, [this](std::uint32_t a, std::uint32_t b) { return is_before(a, b); });
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min<std::uint64_t>(offset, order.size())));
  out.append_rows(rows_, order);
}

}  // namespace moraine::query
