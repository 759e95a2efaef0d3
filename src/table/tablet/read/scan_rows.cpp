#include "table/tablet/read/scan_rows.h"

#include <algorithm>

#include "table/model/merge.h"
#include "table/model/value_check.h"
#include "table/model/value_word.h"

namespace moraine::table {
namespace {

bool is_text(ValueType type) {
  return type == ValueType::kString || type == ValueType::kAny;
}

}  // namespace

std::string_view TextArena::keep_in_next_block(std::string_view text) {
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < text.size()) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t size = std::max(text.size(), kBlockBytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    used_ = 0;
  }
  return keep(text);
}

RowBatcher::RowBatcher(const ScanRequest& request, std::shared_ptr<const TableSchema> schema)
    : request_(request), schema_(std::move(schema)) {}

Result<void> RowBatcher::prepare() {
  std::vector<ColumnIndex> read(request_.columns);
  const auto add_condition = [&](ColumnIndex column, ValueSet values) {
    const auto at = std::ranges::find(read, column);
    condition_at_.push_back(static_cast<std::uint32_t>(at - read.begin()));
    conditions_.push_back(std::move(values));
    if (at == read.end()) read.push_back(column);
  };
  for (const ColumnFilter& filter : request_.filters) {
    add_condition(filter.column, ValueSet::matching(filter.op, filter.value));
  }
  for (const ColumnCondition& condition : request_.conditions) {
    add_condition(condition.column, condition.values);
  }
  for (const ColumnIndex column : request_.timestamps_of) {
    if (std::ranges::find(read, column) == read.end()) read.push_back(column);
  }
  if (Result<void> known = columns_.prepare(read, *schema_); !known) return known;
  has_any_ = std::ranges::find(schema_->columns, ColumnType::kAny, &ColumnSchema::type) !=
             schema_->columns.end();
  cells_.resize(read.size());
  values_.resize(columns_.values.size());
  return {};
}

void RowBatcher::begin(ColumnBatch& batch, std::uint64_t rows) {
  rows_max_ = static_cast<std::size_t>(std::min<std::uint64_t>(rows, kBatchRowsMax));
  batch.rows = 0;
  batch.memory.clear();
  const std::size_t values = request_.columns.size();
  batch.columns.resize(values + request_.timestamps_of.size());
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    ColumnVector& column = batch.columns[i];
    column.nulls.clear();
    column.table.reset();
    column.codes.clear();
    column.type =
        i < values ? physical_type(schema_->columns[request_.columns[i]].type) : ValueType::kUint64;
    column.words.resize(is_text(column.type) ? 0 : rows_max_);
    column.texts.resize(is_text(column.type) ? rows_max_ : 0);
  }
  arena_.clear();
  folded_.clear();
  text_bytes_ = 0;
  hunk_refs_.clear();
  hunk_places_.clear();
}

bool RowBatcher::add(const VersionedRow& row, bool texts_stay, ColumnBatch& batch) {
  if (!read_values(row)) return false;
  if (!columns_.keys.empty() && !read_key(row.key)) return false;
  if (!conditions_.empty() && !passes()) return false;
  const bool stay = texts_stay && (columns_.keys.empty() || key_memory_.empty());
  for (std::size_t i = 0; i < request_.columns.size(); ++i) {
    put(batch.columns[i], batch.rows, cells_[i], stay);
  }
  if (!request_.timestamps_of.empty()) put_timestamps(row, batch);
  if (!visible_.hunks().empty()) put_hunks(batch.rows);
  ++batch.rows;
  return true;
}

bool RowBatcher::read_values(const VersionedRow& row) {
  if (row.write_timestamps.empty()) return false;
  Value* values = values_.data();
  if (columns_.adjacent) {
    values = cells_.data() + (columns_.value_at.empty() ? 0 : columns_.value_at.front());
  }
  if (!visible_.read(row, request_.timestamp, request_.retention_timestamp, *schema_, has_any_,
                     columns_.values, values, folded_)) {
    return false;
  }
  if (!columns_.adjacent) {
    for (std::size_t i = 0; i < values_.size(); ++i) cells_[columns_.value_at[i]] = values_[i];
  }
  return true;
}

bool RowBatcher::read_key(ByteSpan key) {
  key_.clear();
  if (!decode_key(key, key_, key_memory_)) return false;
  for (const ReadColumns::KeyCell& cell : columns_.keys) {
    cells_[cell.at] = cell.column < key_.size() ? key_[cell.column] : Value();
  }
  return true;
}

bool RowBatcher::is_hunk(std::uint32_t at) const {
  return std::ranges::any_of(
      visible_.hunks(), [this, at](std::uint32_t index) { return columns_.value_at[index] == at; });
}

bool RowBatcher::passes() const {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    if (!visible_.hunks().empty() && is_hunk(condition_at_[i])) continue;
    if (!conditions_[i].contains(cells_[condition_at_[i]])) return false;
  }
  return true;
}

void RowBatcher::put(ColumnVector& column, std::size_t row, const Value& value, bool texts_stay) {
  if (value.is_null()) [[unlikely]] {
    if (column.nulls.empty()) column.nulls.assign(rows_max_, 0);
    column.nulls[row] = 1;
  }
  if (!is_text(column.type)) {
    column.words[row] = word_of(value);
    return;
  }
  const std::string_view text = value.has_text() ? value.text() : std::string_view();
  column.texts[row] = texts_stay ? text : arena_.keep(text);
  text_bytes_ += text.size();
}

void RowBatcher::put_timestamps(const VersionedRow& row, ColumnBatch& batch) {
  Timestamp first = request_.retention_timestamp;
  for (const Timestamp deleted : row.delete_timestamps) {
    if (deleted <= request_.timestamp) first = std::max(first, deleted + 1);
  }
  for (std::size_t i = 0; i < request_.timestamps_of.size(); ++i) {
    Timestamp newest = kNullTimestamp;
    for (const VersionedValue& value : row.values) {
      if (value.column != request_.timestamps_of[i]) continue;
      if (value.timestamp < first || value.timestamp > request_.timestamp) continue;
      newest = std::max(newest, value.timestamp);
    }
    put(batch.columns[request_.columns.size() + i], batch.rows,
        newest == kNullTimestamp ? Value() : Value(newest), true);
  }
}

void RowBatcher::put_hunks(std::size_t row) {
  for (const std::uint32_t index : visible_.hunks()) {
    const std::uint32_t at = columns_.value_at[index];
    const ByteSpan bytes = as_bytes(cells_[at].text());
    hunk_refs_.push_back(bytes.size() == kHunkRefBytes ? decode_hunk(bytes.data()) : HunkRef{});
    const bool any = cells_[at].type() == ValueType::kAny;
    const bool wrap = !any && schema_->columns[columns_.asked[at]].type == ColumnType::kAny;
    hunk_places_.push_back({.row = row, .column = at, .any = any, .wrap = wrap});
    text_bytes_ += hunk_refs_.back().size;
  }
}

void RowBatcher::end(ColumnBatch& batch) const {
  for (ColumnVector& column : batch.columns) {
    if (column.table) {
      column.codes.resize(batch.rows);
    } else if (is_text(column.type)) {
      column.texts.resize(batch.rows);
    } else {
      column.words.resize(batch.rows);
    }
    if (!column.nulls.empty()) column.nulls.resize(batch.rows);
  }
}

void RowBatcher::resolve(std::span<const Slice> bytes, ColumnBatch& batch) {
  std::vector<bool> drop(batch.rows);
  for (std::size_t i = 0; i < hunk_places_.size(); ++i) {
    const HunkPlace& place = hunk_places_[i];
    Slice text = bytes[i];
    Value value = place.any ? Value::any(text.text()) : Value(text.text());
    if (place.wrap) {
      TextMemory memory;
      text = Slice::copy_of(as_any(value, memory).text());
      value = Value::any(text.text());
    }
    if (place.column < request_.columns.size()) {
      batch.columns[place.column].texts[place.row] = text.text();
      batch.memory.push_back(text);
    }
    for (std::size_t j = 0; j < conditions_.size(); ++j) {
      if (condition_at_[j] != place.column) continue;
      if (!conditions_[j].contains(value)) drop[place.row] = true;
    }
  }
  hunk_refs_.clear();
  hunk_places_.clear();
  if (std::ranges::find(drop, true) != drop.end()) drop_rows(drop, batch);
}

void RowBatcher::drop_rows(const std::vector<bool>& drop, ColumnBatch& batch) {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (drop[row]) continue;
    for (ColumnVector& column : batch.columns) {
      if (!column.texts.empty()) column.texts[kept] = column.texts[row];
      if (!column.words.empty()) column.words[kept] = column.words[row];
      if (!column.nulls.empty()) column.nulls[kept] = column.nulls[row];
    }
    ++kept;
  }
  batch.rows = kept;
}

}  // namespace moraine::table
