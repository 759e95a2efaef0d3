#include "table/tablet/read/run_copy.h"

#include <algorithm>
#include <utility>

namespace moraine::table {
namespace {

// If a smaller share of a group is copied, columns are read row by row.
constexpr std::size_t kSparseShare = 10;
// Of a row whose text is in ColumnVector::texts.
constexpr std::uint32_t kNoCode = ~std::uint32_t{0};
// Codes are returned if the table has at most one text for so many rows.
constexpr std::size_t kRowsPerTextMin = 2;

// Most runs are short where sources overlap much.
template <class T>
void copy_items(const T* from, std::uint32_t count, T* to) {
  if (count > 16) {
    std::copy(from, from + count, to);
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace

RunCopy::RunCopy(std::span<const std::unique_ptr<GroupCursor>> groups, const ScanRequest& request,
                 const RowBatcher& batcher)
    : groups_(groups),
      request_(request),
      batcher_(batcher),
      code_from_(groups.size()),
      used_(groups.size()),
      picked_(groups.size()),
      copied_(groups.size()),
      some_(groups.size()) {}

void RunCopy::begin(ColumnBatch& batch) {
  taken_ = false;
  tables_.resize(batch.columns.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    ColumnVector& column = batch.columns[i];
    tables_[i].reset();
    if (!request_.text_tables || !is_text_type(column.type)) continue;
    tables_[i] = std::make_shared<TextTable>();
    column.codes.assign(batcher_.rows_max(), kNoCode);
  }
}

void RunCopy::pick(std::uint32_t source, std::uint32_t row, std::uint32_t count,
                   ColumnBatch& batch) {
  if (used_[source] == 0) {
    used_[source] = 1;
    picked_[source] = 0;
    sources_.push_back(source);
  }
  picked_[source] += count;
  picks_.push_back({source, row, count, static_cast<std::uint32_t>(batch.rows)});
  batch.rows += count;
}

void RunCopy::flush(ColumnBatch& batch) {
  if (picks_.empty()) return;
  if (!take_group(batch)) {
    for (std::size_t i = 0; i < batch.columns.size(); ++i) copy_column(i, batch);
  }
  const bool texts = std::ranges::any_of(
      batch.columns, [](const ColumnVector& column) { return is_text_type(column.type); });
  for (const std::uint32_t source : sources_) {
    if (texts) groups_[source]->keep_blocks(batch.memory);
    used_[source] = 0;
  }
  picks_.clear();
  sources_.clear();
}

// A group that is the whole batch is not copied. False: there is more.
bool RunCopy::take_group(ColumnBatch& batch) {
  const Pick& pick = picks_.front();
  if (picks_.size() != 1 || pick.count != batch.rows || pick.row != 0) return false;
  GroupCursor& cursor = *groups_[pick.source];
  if (cursor.group_rows() != pick.count) return false;
  for (std::size_t i = 0; i < batch.columns.size(); ++i) cursor.take(i, batch.columns[i]);
  taken_ = true;
  return true;
}

// Of a group of which few rows pass only those are decoded.
void RunCopy::prepare_copy(std::size_t i, std::uint32_t source) {
  GroupCursor& cursor = *groups_[source];
  Copied& copied = copied_[source];
  copied = {};
  copied.some = cursor.mask() != nullptr && !cursor.is_decoded(i) &&
                picked_[source] * kSparseShare < cursor.group_rows();
  if (!copied.some) {
    copied.column = &cursor.column(i);
    return;
  }
  some_rows_.clear();
  for (const Pick& pick : picks_) {
    if (pick.source != source) continue;
    for (std::uint32_t row = 0; row < pick.count; ++row) some_rows_.push_back(pick.row + row);
  }
  cursor.read_rows(i, some_rows_, some_[source]);
  copied.column = &some_[source];
}

void RunCopy::copy_column(std::size_t i, ColumnBatch& batch) {
  ColumnVector& out = batch.columns[i];
  any_some_ = false;
  for (const std::uint32_t source : sources_) {
    prepare_copy(i, source);
    any_some_ = any_some_ || copied_[source].some;
  }
  copy_nulls(out);
  if (is_text_type(out.type)) return copy_texts(i, out);
  for (const Pick& pick : picks_) {
    const std::uint64_t* in = copied_[pick.source].column->words.data();
    copy_items(in + first_of(pick), pick.count, &out.words[pick.at]);
  }
}

void RunCopy::copy_nulls(ColumnVector& out) {
  const bool nulls = std::ranges::any_of(
      sources_, [this](std::uint32_t source) { return !copied_[source].column->nulls.empty(); });
  if (!nulls) return;
  if (out.nulls.empty()) out.nulls.assign(batcher_.rows_max(), 0);
  for (const Pick& pick : picks_) {
    const std::uint32_t from = first_of(pick);
    const std::vector<std::uint8_t>& in = copied_[pick.source].column->nulls;
    if (!in.empty()) copy_items(in.data() + from, pick.count, &out.nulls[pick.at]);
  }
  for (const std::uint32_t source : sources_) copied_[source].next = 0;
}

void RunCopy::copy_texts(std::size_t i, ColumnVector& out) {
  const bool tables = std::ranges::all_of(
      sources_, [this](std::uint32_t source) { return copied_[source].column->table != nullptr; });
  if (tables_[i] && tables) return copy_codes(i, out);
  if (tables_[i]) look_up_codes(i, out);
  for (const Pick& pick : picks_) {
    const ColumnVector& in = *copied_[pick.source].column;
    const std::uint32_t from = first_of(pick);
    if (!in.table) {
      copy_items(in.texts.data() + from, pick.count, &out.texts[pick.at]);
      continue;
    }
    for (std::uint32_t row = 0; row < pick.count; ++row) {
      out.texts[pick.at + row] = in.text(from + row);
    }
  }
}

// The tables of all sources become one.
void RunCopy::copy_codes(std::size_t i, ColumnVector& out) {
  TextTable& all = *tables_[i];
  for (const std::uint32_t source : sources_) {
    const TextTable& table = *copied_[source].column->table;
    code_from_[source] = static_cast<std::uint32_t>(all.size());
    all.insert(all.end(), table.begin(), table.end());
  }
  for (const Pick& pick : picks_) {
    const std::uint32_t* in = copied_[pick.source].column->codes.data() + pick.row;
    const std::uint32_t from = code_from_[pick.source];
    std::uint32_t* to = &out.codes[pick.at];
    for (std::uint32_t row = 0; row < pick.count; ++row) to[row] = in[row] + from;
  }
}

// The column has texts instead of codes from now on.
void RunCopy::look_up_codes(std::size_t i, ColumnVector& column) {
  for (std::size_t row = 0; row < column.codes.size(); ++row) {
    if (column.codes[row] != kNoCode) column.texts[row] = (*tables_[i])[column.codes[row]];
  }
  column.codes.clear();
  tables_[i].reset();
}

// Rows that were read one by one get codes of their own.
void RunCopy::finish(ColumnBatch& batch) {
  if (taken_) return;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (!tables_[i]) continue;
    ColumnVector& column = batch.columns[i];
    TextTable& table = *tables_[i];
    const auto own = static_cast<std::size_t>(
        std::count(column.codes.begin(),
                   column.codes.begin() + static_cast<std::ptrdiff_t>(batch.rows), kNoCode));
    // Long values are filled in later, by row.
    const bool coded = !table.empty() && batcher_.hunks().empty() &&
                       (table.size() + own) * kRowsPerTextMin <= batch.rows;
    if (!coded) {
      look_up_codes(i, column);
      continue;
    }
    for (std::size_t row = 0; row < batch.rows; ++row) {
      if (column.codes[row] != kNoCode) continue;
      column.codes[row] = static_cast<std::uint32_t>(table.size());
      table.push_back(column.texts[row]);
    }
    column.table = std::move(tables_[i]);
    column.texts.clear();
  }
}

}  // namespace moraine::table
