// Kernels of arithmetic and of comparisons.

#include <functional>
#include <limits>

#include "query/execute/kernel.h"
#include "query/plan/evaluate.h"

namespace moraine::query {
namespace {

constexpr unsigned kShiftMask = 63;

template <class T>
T number(std::uint64_t word) {
  return std::bit_cast<T>(word);
}
template <class T>
std::uint64_t word(T number) {
  return std::bit_cast<std::uint64_t>(number);
}

// Computes also rows that are not selected when that is cheaper than to leave them out.
template <class F>
void for_most(const Batch& batch, const Selection& rows, F&& f) {
  if (rows.is_dense() || rows.count * 2 > batch.rows) {
    const std::size_t count = rows.is_dense() ? rows.count : batch.rows;
    for (std::size_t i = 0; i < count; ++i) f(i);
  } else {
    for (std::size_t i = 0; i < rows.count; ++i) f(std::size_t{rows.rows[i]});
  }
}

// Calls f(a, b) with compile-time marks of constant sides. Requires: not both constant.
template <class F>
auto with_sides(const Column& a, const Column& b, F&& f) {
  if (a.constant) return f(std::true_type(), std::false_type());
  if (b.constant) return f(std::false_type(), std::true_type());
  return f(std::false_type(), std::false_type());
}

// Null where one of them is; a null pointer: nowhere. Requires: neither is all null.
const std::uint8_t* either_null(const Batch& batch, const Selection& rows, const Column& a,
                                const Column& b, ColumnBuffer& buffer) {
  const bool in_a = !a.without_nulls();
  const bool in_b = !b.without_nulls();
  if (!in_a && !in_b) return nullptr;
  if (in_a != in_b) return in_a ? a.nulls : b.nulls;
  std::uint8_t* const nulls = buffer.nulls();
  for_most(batch, rows, [&](std::size_t row) { nulls[row] = a.nulls[row] | b.nulls[row]; });
  return nulls;
}

struct Plus {
  double operator()(double a, double b) const { return a + b; }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
struct Minus {
  double operator()(double a, double b) const { return a - b; }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a - b; }
};
struct Times {
  double operator()(double a, double b) const { return a * b; }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a * b; }
};
struct Over {
  double operator()(double a, double b) const { return a / b; }
};
struct ShiftLeft {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a << (b & kShiftMask); }
};
struct ShiftRight {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return a >> (static_cast<std::uint64_t>(b) & kShiftMask);
  }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a >> (b & kShiftMask); }
};

Result<void> divide_signed(Operator op, std::int64_t a, std::int64_t b, std::uint64_t& out) {
  if (b == 0) return fail(Errc::kInvalidArgument, "Division by zero");
  if (b == -1) {
    if (op == Operator::kModulo) {
      out = 0;
      return {};
    }
    if (a == std::numeric_limits<std::int64_t>::min()) {
      return fail(Errc::kInvalidArgument, "Division overflow");
    }
  }
  out = word(op == Operator::kDivide ? a / b : a % b);
  return {};
}

Result<void> divide_unsigned(Operator op, std::uint64_t a, std::uint64_t b, std::uint64_t& out) {
  if (b == 0) return fail(Errc::kInvalidArgument, "Division by zero");
  out = op == Operator::kDivide ? a / b : a % b;
  return {};
}

class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const Expression& e)
      : Kernel(e.type), op_(e.op), left_(compile(e.operands[0])), right_(compile(e.operands[1])) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column a, left_->eval(batch, rows));
    TRY(const Column b, right_->eval(batch, rows));
    if (a.all_null() || b.all_null()) return constant_null(type());
    Column out{.type = type(), .words = buffer_.words()};
    if (a.constant && b.constant) {
      out.constant = true;
      Column one = b;
      one.constant = false;
      TRY_VOID(compute(batch, Selection::all(1), a, one, nullptr));
      return out;
    }
    out.nulls = either_null(batch, rows, a, b, buffer_);
    TRY_VOID(compute(batch, rows, a, b, out.nulls));
    return out;
  }

 private:
  Result<void> compute(const Batch& batch, const Selection& rows, const Column& a, const Column& b,
                       const std::uint8_t* nulls) {
    switch (a.type) {
      case ValueType::kDouble: return compute_double(batch, rows, a, b);
      case ValueType::kInt64:
        if (op_ == Operator::kShiftRight) {
          return apply<std::int64_t>(batch, rows, a, b, ShiftRight());
        }
        if (op_ != Operator::kDivide && op_ != Operator::kModulo) break;
        return divide(rows, a, b, nulls, [this](std::uint64_t x, std::uint64_t y, auto& out) {
          return divide_signed(op_, number<std::int64_t>(x), number<std::int64_t>(y), out);
        });
      default:
        if (op_ != Operator::kDivide && op_ != Operator::kModulo) break;
        return divide(rows, a, b, nulls, [this](std::uint64_t x, std::uint64_t y, auto& out) {
          return divide_unsigned(op_, x, y, out);
        });
    }
    return compute_words(batch, rows, a, b);
  }

  Result<void> compute_double(const Batch& batch, const Selection& rows, const Column& a,
                              const Column& b) {
    switch (op_) {
      case Operator::kPlus: return apply<double>(batch, rows, a, b, Plus());
      case Operator::kMinus: return apply<double>(batch, rows, a, b, Minus());
      case Operator::kMultiply: return apply<double>(batch, rows, a, b, Times());
      default: return apply<double>(batch, rows, a, b, Over());
    }
  }
  // The same bits for both kinds of integers.
  Result<void> compute_words(const Batch& batch, const Selection& rows, const Column& a,
                             const Column& b) {
    using Word = std::uint64_t;
    switch (op_) {
      case Operator::kPlus: return apply<Word>(batch, rows, a, b, Plus());
      case Operator::kMinus: return apply<Word>(batch, rows, a, b, Minus());
      case Operator::kMultiply: return apply<Word>(batch, rows, a, b, Times());
      case Operator::kBitAnd: return apply<Word>(batch, rows, a, b, std::bit_and<Word>());
      case Operator::kBitOr: return apply<Word>(batch, rows, a, b, std::bit_or<Word>());
      case Operator::kBitXor: return apply<Word>(batch, rows, a, b, std::bit_xor<Word>());
      case Operator::kShiftLeft: return apply<Word>(batch, rows, a, b, ShiftLeft());
      default: return apply<Word>(batch, rows, a, b, ShiftRight());
    }
  }

  template <class T, class Op>
  Result<void> apply(const Batch& batch, const Selection& rows, const Column& a, const Column& b,
                     Op op) {
    const std::uint64_t* const left = a.words;
    const std::uint64_t* const right = b.words;
    std::uint64_t* const out = buffer_.words();
    with_sides(a, b, [&](auto constant_a, auto constant_b) {
      const T first_a = number<T>(left[0]);
      const T first_b = number<T>(right[0]);
      for_most(batch, rows, [&](std::size_t row) {
        const T x = constant_a ? first_a : number<T>(left[row]);
        const T y = constant_b ? first_b : number<T>(right[row]);
        out[row] = word<T>(op(x, y));
      });
    });
    return {};
  }

  template <class F>
  Result<void> divide(const Selection& rows, const Column& a, const Column& b,
                      const std::uint8_t* nulls, F&& f) {
    std::uint64_t* const out = buffer_.words();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::uint32_t row = rows[i];
      if (nulls != nullptr && nulls[row] != 0) continue;
      TRY_VOID(f(a.words[a.at(row)], b.words[b.at(row)], out[row]));
    }
    return {};
  }

  const Operator op_;
  const KernelPtr left_;
  const KernelPtr right_;
  ColumnBuffer buffer_;
};

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(const Expression& e)
      : Kernel(e.type), op_(e.op), operand_(compile(e.operands[0])) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column a, operand_->eval(batch, rows));
    if (a.all_null()) return constant_null(type());
    std::uint64_t* const out = buffer_.words();
    const Selection some = a.constant ? Selection::all(1) : rows;
    const std::uint64_t* const in = a.words;
    if (a.type == ValueType::kDouble) {
      for_most(batch, some, [&](std::size_t row) { out[row] = word(-number<double>(in[row])); });
    } else if (op_ == Operator::kMinus) {
      for_most(batch, some, [&](std::size_t row) { out[row] = 0 - in[row]; });
    } else {
      for_most(batch, some, [&](std::size_t row) { out[row] = ~in[row]; });
    }
    return Column{.type = type(), .constant = a.constant, .words = out, .nulls = a.nulls};
  }

 private:
  const Operator op_;
  const KernelPtr operand_;
  ColumnBuffer buffer_;
};

// Comparisons of one value with one.
bool relation_of(Operator op, int order) {
  switch (op) {
    case Operator::kEqual: return order == 0;
    case Operator::kNotEqual: return order != 0;
    case Operator::kLess: return order < 0;
    case Operator::kLessOrEqual: return order <= 0;
    case Operator::kGreater: return order > 0;
    default: return order >= 0;
  }
}

template <class F>
auto with_relation(Operator op, F&& f) {
  switch (op) {
    case Operator::kEqual: return f(std::equal_to<>());
    case Operator::kNotEqual: return f(std::not_equal_to<>());
    case Operator::kLess: return f(std::less<>());
    case Operator::kLessOrEqual: return f(std::less_equal<>());
    case Operator::kGreater: return f(std::greater<>());
    default: return f(std::greater_equal<>());
  }
}

class CompareKernel final : public Kernel {
 public:
  explicit CompareKernel(const Expression& e)
      : Kernel(e.type),
        op_(e.op),
        null_is_least_(e.nulls == NullRelation::kNullIsLeast),
        left_(compile(e.operands[0])),
        right_(compile(e.operands[1])) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Sides sides, operands(batch, rows));
    const auto& [a, b] = sides;
    std::uint64_t* const out = buffer_.words();
    if (constant_null_side(a, b) && !null_is_least_) return constant_null(type());
    if (a.constant && b.constant) {
      out[0] = compare_row(a, b, 0) ? 1 : 0;
      return Column{.type = type(), .constant = true, .words = out};
    }
    if (a.without_nulls() && b.without_nulls()) {
      compute(batch, rows, a, b, [&](std::size_t row, bool holds) { out[row] = holds ? 1 : 0; });
      return Column{.type = type(), .words = out};
    }
    std::uint8_t* const nulls = buffer_.nulls();
    for_each(rows, [&](std::size_t row) {
      const bool unknown = a.is_null(row) || b.is_null(row);
      nulls[row] = unknown && !null_is_least_ ? 1 : 0;
      out[row] = nulls[row] == 0 && compare_row(a, b, row) ? 1 : 0;
    });
    return Column{.type = type(), .words = out, .nulls = null_is_least_ ? nullptr : nulls};
  }

  Result<std::size_t> filter(const Batch& batch, const Selection& rows,
                             std::uint32_t* out) override {
    TRY(const Sides sides, operands(batch, rows));
    const auto& [a, b] = sides;
    if (a.constant && b.constant) return Kernel::filter(batch, rows, out);
    std::size_t kept = 0;
    if (!a.without_nulls() || !b.without_nulls()) {
      for_each(rows, [&](std::size_t row) {
        const bool unknown = !null_is_least_ && (a.is_null(row) || b.is_null(row));
        const bool holds = !unknown && compare_row(a, b, row);
        out[kept] = static_cast<std::uint32_t>(row);
        kept += holds ? 1 : 0;
      });
      return kept;
    }
    compute_selected(rows, a, b, [&](std::size_t row, bool holds) {
      out[kept] = static_cast<std::uint32_t>(row);
      kept += holds ? 1 : 0;
    });
    return kept;
  }

 private:
  struct Sides {
    Column a;
    Column b;
  };
  Result<Sides> operands(const Batch& batch, const Selection& rows) {
    TRY(Column a, left_->eval(batch, rows));
    TRY(Column b, right_->eval(batch, rows));
    if (null_is_least_ || (a.without_nulls() && b.without_nulls())) {
      TRY_VOID(refuse_nan(a, rows));
      TRY_VOID(refuse_nan(b, rows));
    } else if (a.type == ValueType::kDouble || b.type == ValueType::kDouble) {
      // A null beside it makes a NaN unseen.
      for (std::size_t i = 0; i < rows.count; ++i) {
        const std::uint32_t row = rows[i];
        if (a.is_null(row) || b.is_null(row)) continue;
        TRY_VOID(order_of(a.value(row), b.value(row)));
      }
    }
    return Sides{a, b};
  }
  static bool constant_null_side(const Column& a, const Column& b) {
    return a.all_null() || b.all_null();
  }

  bool compare_row(const Column& a, const Column& b, std::size_t row) const {
    const bool null_a = a.is_null(row);
    const bool null_b = b.is_null(row);
    if (null_a || null_b) return relation_of(op_, int{null_b} - int{null_a});
    const auto order = compare(a.value(row), b.value(row));
    return relation_of(op_, order < 0 ? -1 : order > 0 ? 1 : 0);
  }

  template <class Each, class F>
  void compute_with(Each&& each, const Column& a, const Column& b, F&& f) {
    with_relation(op_, [&](auto relation) {
      if (a.codes != nullptr || b.codes != nullptr) {
        each([&](std::size_t row) { f(row, relation(a.text(row), b.text(row))); });
        return;
      }
      with_sides(a, b, [&](auto constant_a, auto constant_b) {
        const auto run = [&](const auto* left, const auto* right, auto convert) {
          const auto first_a = convert(left[0]);
          const auto first_b = convert(right[0]);
          each([&](std::size_t row) {
            if constexpr (constant_a) {
              f(row, relation(first_a, convert(right[row])));
            } else if constexpr (constant_b) {
              f(row, relation(convert(left[row]), first_b));
            } else {
              f(row, relation(convert(left[row]), convert(right[row])));
            }
          });
        };
        switch (a.type) {
          case ValueType::kInt64: return run(a.words, b.words, number<std::int64_t>);
          case ValueType::kDouble: return run(a.words, b.words, number<double>);
          case ValueType::kString:
          case ValueType::kAny:
            return run(a.texts, b.texts, [](std::string_view text) { return text; });
          default: return run(a.words, b.words, number<std::uint64_t>);
        }
      });
    });
  }
  template <class F>
  void compute_selected(const Selection& rows, const Column& a, const Column& b, F&& f) {
    compute_with([&](auto&& body) { for_each(rows, body); }, a, b, f);
  }
  template <class F>
  void compute(const Batch& batch, const Selection& rows, const Column& a, const Column& b, F&& f) {
    if (is_text(a.type)) return compute_selected(rows, a, b, f);
    compute_with([&](auto&& body) { for_most(batch, rows, body); }, a, b, f);
  }

  const Operator op_;
  const bool null_is_least_;
  const KernelPtr left_;
  const KernelPtr right_;
  ColumnBuffer buffer_;
};

// Comparisons of tuples.
class TupleKernel final : public Kernel {
 public:
  explicit TupleKernel(const Expression& e)
      : Kernel(e.type), expression_(e), operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    columns_.clear();
    for (const KernelPtr& operand : operands_) {
      TRY(const Column column, operand->eval(batch, rows));
      columns_.push_back(column);
    }
    std::uint64_t* const out = buffer_.words();
    std::uint8_t* const nulls = buffer_.nulls();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::uint32_t row = rows[i];
      bool unknown = false;
      TRY(const int order, compare_row(row, unknown));
      nulls[row] = order == 0 && unknown ? 1 : 0;
      out[row] = relation_of(expression_.op, order) ? 1 : 0;
    }
    return Column{.type = type(), .words = out, .nulls = nulls};
  }

 private:
  Result<int> compare_row(std::size_t row, bool& unknown) const {
    const std::size_t width = expression_.width;
    const bool equality =
        expression_.op == Operator::kEqual || expression_.op == Operator::kNotEqual;
    for (std::size_t i = 0; i < width; ++i) {
      const Value a = columns_[i].value(row);
      const Value b = columns_[width + i].value(row);
      if (expression_.nulls == NullRelation::kNullGivesNull && (a.is_null() || b.is_null())) {
        unknown = true;
        if (!equality) return 0;
        continue;
      }
      TRY(const std::strong_ordering order, order_of(a, b));
      if (order != 0) return order < 0 ? -1 : 1;
    }
    return 0;
  }

  const Expression& expression_;
  const std::vector<KernelPtr> operands_;
  std::vector<Column> columns_;
  ColumnBuffer buffer_;
};

}  // namespace

KernelPtr compile_arithmetic(const Expression& e) {
  const bool numbers =
      e.type == ValueType::kInt64 || e.type == ValueType::kUint64 || e.type == ValueType::kDouble;
  if (!numbers) return nullptr;
  if (e.kind == ExpressionKind::kUnary) return std::make_unique<UnaryKernel>(e);
  return std::make_unique<BinaryKernel>(e);
}

KernelPtr compile_comparison(const Expression& e) {
  if (e.width != 1) return std::make_unique<TupleKernel>(e);
  const ValueType a = e.operands[0].type;
  const ValueType b = e.operands[1].type;
  // Null literals have no type of their own.
  if (a != b || a == ValueType::kNull) return nullptr;
  return std::make_unique<CompareKernel>(e);
}

}  // namespace moraine::query
