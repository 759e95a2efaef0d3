#include "query/execute/kernel.h"

#include <algorithm>
#include <cmath>

#include "base/invariant.h"
#include "query/plan/evaluate.h"

namespace moraine::query {
namespace {

constexpr std::uint8_t kIsNull = 1;

class LiteralKernel final : public Kernel {
 public:
  explicit LiteralKernel(const Expression& e) : Kernel(e.type), value_(e.literal) {
    if (is_text(e.type) && !value_.is_null()) text_ = value_.text();
    word_ = word_of_value(value_);
  }
  Result<Column> eval(const Batch&, const Selection&) override {
    if (value_.is_null()) return constant_null(type());
    return Column{.type = type(), .constant = true, .words = &word_, .texts = &text_};
  }

 private:
  const Value value_;
  std::uint64_t word_ = 0;
  std::string_view text_;
};

class ColumnKernel final : public Kernel {
 public:
  explicit ColumnKernel(const Expression& e) : Kernel(e.type), column_(e.column) {}
  Result<Column> eval(const Batch& batch, const Selection&) override {
    return batch.columns[column_];
  }

 private:
  const std::size_t column_;
};

// One row after another, by evaluate().
class RowKernel final : public Kernel {
 public:
  explicit RowKernel(const Expression& e) : Kernel(e.type), expression_(e) { collect(e); }
  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    memory_.clear();
    row_.resize(batch.columns.size());
    std::uint64_t* const words = buffer_.words();
    std::string_view* const texts = buffer_.texts();
    std::uint8_t* const nulls = buffer_.nulls();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::uint32_t row = rows[i];
      for (const std::size_t column : used_) row_[column] = batch.columns[column].value(row);
      TRY(const Value value, evaluate(expression_, row_, memory_));
      nulls[row] = value.is_null() ? 1 : 0;
      if (value.has_text()) {
        texts[row] = value.text();
      } else {
        words[row] = word_of_value(value);
      }
    }
    return Column{.type = type(), .words = words, .texts = texts, .nulls = nulls};
  }

 private:
  void collect(const Expression& e) {
    if (e.kind == ExpressionKind::kColumn && std::ranges::find(used_, e.column) == used_.end()) {
      used_.push_back(e.column);
    }
    for (const Expression& operand : e.operands) collect(operand);
  }

  const Expression& expression_;
  std::vector<std::size_t> used_;
  std::vector<Value> row_;
  ColumnBuffer buffer_;
  table::TextMemory memory_;
};

}  // namespace

Result<std::size_t> Kernel::filter(const Batch& batch, const Selection& rows, std::uint32_t* out) {
  TRY(const Column column, eval(batch, rows));
  std::size_t kept = 0;
  if (column.constant) {
    if (column.is_null(0) || column.words == nullptr || column.words[0] == 0) return kept;
    for (std::size_t i = 0; i < rows.count; ++i) out[i] = rows[i];
    return rows.count;
  }
  const std::uint8_t* const nulls = column.nulls;
  for_each(rows, [&](std::size_t row) {
    const bool passes = column.words[row] != 0 && (nulls == nullptr || nulls[row] == 0);
    out[kept] = static_cast<std::uint32_t>(row);
    kept += passes ? 1 : 0;
  });
  return kept;
}

KernelPtr compile(const Expression& e) {
  KernelPtr kernel;
  switch (e.kind) {
    case ExpressionKind::kLiteral: return std::make_unique<LiteralKernel>(e);
    case ExpressionKind::kColumn: return std::make_unique<ColumnKernel>(e);
    case ExpressionKind::kUnary:
    case ExpressionKind::kBinary: kernel = compile_arithmetic(e); break;
    case ExpressionKind::kCompare: kernel = compile_comparison(e); break;
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
    case ExpressionKind::kNot: kernel = compile_logic(e); break;
    case ExpressionKind::kCase: kernel = compile_choice(e); break;
    case ExpressionKind::kIn:
    case ExpressionKind::kBetween:
    case ExpressionKind::kLike: kernel = compile_list(e); break;
    case ExpressionKind::kCall: kernel = compile_call(e); break;
    case ExpressionKind::kTransform: break;
  }
  if (!kernel) kernel = std::make_unique<RowKernel>(e);
  return compile_coded(e, std::move(kernel));
}

std::vector<KernelPtr> compile(std::span<const Expression> expressions) {
  std::vector<KernelPtr> kernels;
  for (const Expression& expression : expressions) kernels.push_back(compile(expression));
  return kernels;
}

Column constant_null(ValueType type) {
  static constexpr std::uint64_t kWord = 0;
  static constexpr std::string_view kText;
  return {.type = type, .constant = true, .words = &kWord, .texts = &kText, .nulls = &kIsNull};
}

Result<void> refuse_nan(const Column& column, const Selection& rows) {
  if (column.type != ValueType::kDouble || rows.count == 0) return {};
  bool found = false;
  if (column.constant) {
    found = !column.is_null(0) && std::isnan(std::bit_cast<double>(column.words[0]));
  } else if (column.nulls == nullptr) {
    for_each(rows, [&](std::size_t row) {
      const auto number = std::bit_cast<double>(column.words[row]);
      found |= number != number;
    });
  } else {
    for_each(rows, [&](std::size_t row) {
      const auto number = std::bit_cast<double>(column.words[row]);
      found |= number != number && column.nulls[row] == 0;
    });
  }
  if (found) return fail(Errc::kInvalidArgument, "Comparison with NaN");
  return {};
}

void ColumnMerge::put_null(const Selection& rows) {
  any_null_ = any_null_ || rows.count > 0;
  std::uint8_t* const nulls = buffer_.nulls();
  for_each(rows, [&](std::size_t row) { nulls[row] = 1; });
}

void ColumnMerge::put(const Column& from, const Selection& rows) {
  if (rows.count == 0) return;
  if (from.all_null() || from.type == ValueType::kNull) return put_null(rows);
  std::uint8_t* const nulls = buffer_.nulls();
  if (from.nulls == nullptr) {
    for_each(rows, [&](std::size_t row) { nulls[row] = 0; });
  } else {
    any_null_ = true;
    for_each(rows, [&](std::size_t row) { nulls[row] = from.nulls[from.at(row)]; });
  }
  if (is_text(type_)) {
    std::string_view* const texts = buffer_.texts();
    for_each(rows, [&](std::size_t row) {
      if (nulls[row] == 0) texts[row] = from.text(row);
    });
  } else {
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) { words[row] = from.words[from.at(row)]; });
  }
}

Column ColumnMerge::take() const {
  return {.type = type_,
          .words = is_text(type_) ? nullptr : buffer_.words(),
          .texts = is_text(type_) ? buffer_.texts() : nullptr,
          .nulls = any_null_ ? buffer_.nulls() : nullptr};
}

}  // namespace moraine::query
