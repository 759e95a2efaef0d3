// Expressions over one text column whose rows are codes of a table: computed once per text.

#include <algorithm>

#include "query/execute/kernel.h"
#include "query/execute/row_store.h"

namespace moraine::query {
namespace {

class CodedKernel final : public Kernel {
 public:
  CodedKernel(KernelPtr plain, std::size_t column)
      : Kernel(plain->type()), plain_(std::move(plain)), column_(column) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    const Column& in = batch.columns[column_];
    if (!is_usable(in, rows) || !refresh(batch)) return plain_->eval(batch, rows);
    const std::uint32_t* const places = places_of(in, rows);
    Column out{.type = type()};
    if (any_null_) {
      std::uint8_t* const nulls = buffer_.nulls();
      for_each(rows, [&](std::size_t row) { nulls[row] = nulls_[places[row]]; });
      out.nulls = nulls;
    }
    if (is_text(type())) {
      out.texts = texts_.data();
      out.codes = places;
      out.table_size = static_cast<std::uint32_t>(texts_.size());
      out.table_id = result_id_;
      return out;
    }
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) { words[row] = words_[places[row]]; });
    out.words = words;
    return out;
  }

  Result<std::size_t> filter(const Batch& batch, const Selection& rows,
                             std::uint32_t* out) override {
    const Column& in = batch.columns[column_];
    if (!is_usable(in, rows) || !refresh(batch)) return plain_->filter(batch, rows, out);
    const std::uint32_t* const places = places_of(in, rows);
    std::size_t kept = 0;
    for_each(rows, [&](std::size_t row) {
      const std::uint32_t place = places[row];
      out[kept] = static_cast<std::uint32_t>(row);
      kept += passes_[place];
    });
    return kept;
  }

 private:
  bool is_usable(const Column& in, const Selection& rows) const {
    if (in.codes == nullptr || in.table_size >= kVectorRows) return false;
    return in.table_id == table_id_ || in.table_size <= rows.count;
  }

  // Null is the place after all texts.
  const std::uint32_t* places_of(const Column& in, const Selection& rows) {
    if (in.nulls == nullptr) return in.codes;
    std::uint32_t* const places = buffer_.codes();
    for_each(rows, [&](std::size_t row) {
      places[row] = in.nulls[row] != 0 ? in.table_size : in.codes[row];
    });
    return places;
  }

  // False: it fails for a text, which may belong to no row.
  bool refresh(const Batch& batch) {
    const Column& in = batch.columns[column_];
    if (in.table_id == table_id_) return fits_;
    table_id_ = in.table_id;
    const std::size_t count = std::size_t{in.table_size} + 1;
    std::vector<std::string_view> texts(in.texts, in.texts + in.table_size);
    texts.emplace_back();
    std::vector<std::uint8_t> nulls(count);
    nulls.back() = 1;
    Batch table{.rows = count, .columns = std::vector<Column>(batch.columns.size())};
    table.columns[column_] = {.type = in.type, .texts = texts.data(), .nulls = nulls.data()};
    const Result<Column> computed = plain_->eval(table, Selection::all(count));
    fits_ = computed.has_value();
    if (fits_) keep(*computed, count);
    return fits_;
  }

  void keep(const Column& computed, std::size_t count) {
    any_null_ = false;
    nulls_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      nulls_[i] = computed.type == ValueType::kNull || computed.is_null(i) ? 1 : 0;
      any_null_ = any_null_ || nulls_[i] != 0;
    }
    if (is_text(type())) {
      memory_ = TextStore();
      texts_.assign(count, {});
      for (std::size_t i = 0; i < count; ++i) {
        if (nulls_[i] == 0) texts_[i] = memory_.keep(computed.text(i));
      }
      result_id_ = new_table_id();
      return;
    }
    words_.assign(count, 0);
    passes_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      if (nulls_[i] == 0) words_[i] = computed.words[computed.at(i)];
      passes_[i] = nulls_[i] == 0 && words_[i] != 0 ? 1 : 0;
    }
  }

  const KernelPtr plain_;
  const std::size_t column_;
  std::uint64_t table_id_ = 0;  // What follows was computed for this table.
  bool fits_ = false;
  bool any_null_ = false;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint8_t> passes_;
  std::vector<std::uint8_t> nulls_;
  std::vector<std::string_view> texts_;
  std::uint64_t result_id_ = 0;
  TextStore memory_;
  ColumnBuffer buffer_;
};

void collect_columns(const Expression& e, std::vector<const Expression*>& columns) {
  if (e.kind == ExpressionKind::kColumn) columns.push_back(&e);
  for (const Expression& operand : e.operands) collect_columns(operand, columns);
}

}  // namespace

KernelPtr compile_coded(const Expression& e, KernelPtr kernel) {
  std::vector<const Expression*> columns;
  collect_columns(e, columns);
  if (columns.empty() || !is_text(columns[0]->type)) return kernel;
  const bool one = std::ranges::all_of(
      columns, [&](const Expression* column) { return column->column == columns[0]->column; });
  if (!one) return kernel;
  return std::make_unique<CodedKernel>(std::move(kernel), columns[0]->column);
}

}  // namespace moraine::query
