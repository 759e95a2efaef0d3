// Kernels of function calls.

#include <re2/re2.h>

#include <algorithm>

#include "query/execute/kernel.h"
#include "query/function/call.h"

namespace moraine::query {
namespace {

using F = Function;

// Any function: one call for each row.
class CallKernel final : public Kernel {
 public:
  explicit CallKernel(const Expression& e, Function function)
      : Kernel(e.type),
        function_(function),
        sees_nulls_(info_of(function).nulls == NullRule::kSeesNulls),
        operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    columns_.clear();
    bool constant = true;
    for (const KernelPtr& operand : operands_) {
      TRY(const Column column, operand->eval(batch, rows));
      columns_.push_back(column);
      constant = constant && column.constant;
    }
    memory_.clear();
    arguments_.resize(columns_.size());
    if (constant) {
      TRY_VOID(call(0));
    } else {
      for (std::size_t i = 0; i < rows.count; ++i) {
        TRY_VOID(call(rows[i]));
      }
    }
    const bool text = is_text(type());
    return Column{.type = type(),
                  .constant = constant,
                  .words = text ? nullptr : buffer_.words(),
                  .texts = text ? buffer_.texts() : nullptr,
                  .nulls = buffer_.nulls()};
  }

 private:
  Result<void> call(std::size_t row) {
    bool has_null = false;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      arguments_[j] = columns_[j].value(row);
      has_null = has_null || arguments_[j].is_null();
    }
    Value value;
    if (!has_null || sees_nulls_) {
      TRY(value, call_function(function_, arguments_, memory_));
    }
    buffer_.nulls()[row] = value.is_null() ? 1 : 0;
    if (is_text(type())) {
      if (!value.is_null()) buffer_.texts()[row] = value.text();
    } else {
      buffer_.words()[row] = word_of_value(value);
    }
    return {};
  }

  const Function function_;
  const bool sees_nulls_;
  const std::vector<KernelPtr> operands_;
  std::vector<Column> columns_;
  std::vector<Value> arguments_;
  ColumnBuffer buffer_;
  table::TextMemory memory_;
};

// A function of one column that cannot fail, null for null.
template <class Compute>
class SimpleKernel final : public Kernel {
 public:
  SimpleKernel(const Expression& e, Compute compute)
      : Kernel(e.type), operand_(compile(e.operands[0])), compute_(compute) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column a, operand_->eval(batch, rows));
    if (a.all_null() || a.type == ValueType::kNull) return constant_null(type());
    std::uint64_t* const words = buffer_.words();
    const Selection some = a.constant ? Selection::all(1) : rows;
    for_each(some, [&](std::size_t row) {
      if (!a.is_null(row)) words[row] = compute_(a, row);
    });
    return Column{.type = type(), .constant = a.constant, .words = words, .nulls = a.nulls};
  }

 private:
  const KernelPtr operand_;
  const Compute compute_;
  ColumnBuffer buffer_;
};

template <class Compute>
KernelPtr simple(const Expression& e, Compute compute) {
  return std::make_unique<SimpleKernel<Compute>>(e, compute);
}

class IsNullKernel final : public Kernel {
 public:
  explicit IsNullKernel(const Expression& e) : Kernel(e.type), operand_(compile(e.operands[0])) {}
  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column a, operand_->eval(batch, rows));
    std::uint64_t* const words = buffer_.words();
    if (a.type == ValueType::kNull || a.constant || a.nulls == nullptr) {
      words[0] = a.type == ValueType::kNull || (a.constant && a.is_null(0)) ? 1 : 0;
      return Column{.type = type(), .constant = true, .words = words};
    }
    for_each(rows, [&](std::size_t row) { words[row] = a.nulls[row]; });
    return Column{.type = type(), .words = words};
  }

 private:
  const KernelPtr operand_;
  ColumnBuffer buffer_;
};

// regex_full_match and regex_partial_match with a constant pattern.
class RegexKernel final : public Kernel {
 public:
  explicit RegexKernel(const Expression& e)
      : Kernel(e.type),
        full_(e.function == F::kRegexFullMatch),
        text_(compile(e.operands[1])),
        regex_(piece(e.operands[0].literal.text()), quiet()) {}
  bool usable() const { return regex_.ok(); }

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column text, text_->eval(batch, rows));
    std::uint64_t* const words = buffer_.words();
    for_each(rows, [&](std::size_t row) {
      words[row] = !text.is_null(row) && matches(text.text(row)) ? 1 : 0;
    });
    return Column{.type = type(), .words = words};
  }

 private:
  static re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }
  static re2::RE2::Options quiet() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    return options;
  }
  bool matches(std::string_view text) const {
    return full_ ? re2::RE2::FullMatch(piece(text), regex_)
                 : re2::RE2::PartialMatch(piece(text), regex_);
  }

  const bool full_;
  const KernelPtr text_;
  const re2::RE2 regex_;
  ColumnBuffer buffer_;
};

std::uint64_t as_double_word(ValueType type, std::uint64_t word) {
  if (type == ValueType::kInt64) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(word)));
  }
  return type == ValueType::kUint64 ? std::bit_cast<std::uint64_t>(static_cast<double>(word))
                                    : word;
}

KernelPtr compile_simple(const Expression& e) {
  const ValueType type = e.operands.empty() ? ValueType::kNull : e.operands[0].type;
  const bool integer = type == ValueType::kInt64 || type == ValueType::kUint64;
  switch (e.function) {
    case F::kIsNull: return std::make_unique<IsNullKernel>(e);
    case F::kInt64:
    case F::kUint64:
      if (!integer) return nullptr;
      return simple(e, [](const Column& a, std::size_t row) { return a.words[a.at(row)]; });
    case F::kDouble:
      if (!integer && type != ValueType::kDouble) return nullptr;
      return simple(e, [](const Column& a, std::size_t row) {
        return as_double_word(a.type, a.words[a.at(row)]);
      });
    case F::kLength:
      return simple(
          e, [](const Column& a, std::size_t row) { return std::uint64_t{a.text(row).size()}; });
    case F::kFloorHour:
    case F::kFloorDay:
    case F::kFloorWeek:
    case F::kFloorMonth:
    case F::kFloorQuarter:
    case F::kFloorYear:
      return simple(e, [function = e.function](const Column& a, std::size_t row) {
        return static_cast<std::uint64_t>(
            floor_time(function, static_cast<std::int64_t>(a.words[a.at(row)])));
      });
    default: return nullptr;
  }
}

}  // namespace

KernelPtr compile_call(const Expression& e) {
  switch (e.function) {
    case F::kIf: {
      if (e.operands[0].type == ValueType::kBoolean) return compile_choice(e);
      return nullptr;
    }
    case F::kIfNull:
    case F::kCoalesce: return compile_choice(e);
    case F::kUnsupported: return nullptr;
    case F::kRegexFullMatch:
    case F::kRegexPartialMatch: {
      const Expression& pattern = e.operands[0];
      const bool constant = pattern.is_literal() && pattern.literal.type() == ValueType::kString &&
                            e.operands[1].type == ValueType::kString;
      if (!constant) break;
      auto kernel = std::make_unique<RegexKernel>(e);
      if (kernel->usable()) return kernel;
      break;
    }
    default: break;
  }
  if (KernelPtr kernel = compile_simple(e)) return kernel;
  return std::make_unique<CallKernel>(e, e.function);
}

}  // namespace moraine::query
