// Kernels: expressions compiled once, computed for the selected rows of a batch at a time.
//
// Promise    A kernel returns for each selected row what plan/evaluate.h returns for that row. It
//            computes an operand for those rows only that need it, so that it fails only if
//            evaluate() fails for a selected row; of several errors any one is returned.
// Threading  One thread at a time: a kernel owns the memory of its results, which live until it is
//            called again. Each part of a query compiles its own.
// Limits     kVectorRows rows; those of the plan's depth.
// Errors     Those of evaluate.h.
// Tests      kernel_test.cpp compares with evaluate() on random expressions and rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/execute/vector.h"
#include "query/plan/expression.h"

namespace moraine::query {

class Kernel {
 public:
  explicit Kernel(ValueType type) : type_(type) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Requires: a row is selected.
  virtual Result<Column> eval(const Batch& batch, const Selection& rows) = 0;
  // Writes the selected rows for which it is true, and returns their number. `out` may be the
  // memory of `rows`. Requires: type boolean.
  virtual Result<std::size_t> filter(const Batch& batch, const Selection& rows, std::uint32_t* out);
  ValueType type() const { return type_; }

 private:
  const ValueType type_;
};
using KernelPtr = std::unique_ptr<Kernel>;

// The expression outlives the kernel.
KernelPtr compile(const Expression& expression);
std::vector<KernelPtr> compile(std::span<const Expression> expressions);

// Internal: compile() of kinds of expressions. Null pointer: computed row by row.
KernelPtr compile_arithmetic(const Expression& expression);
KernelPtr compile_comparison(const Expression& expression);
KernelPtr compile_logic(const Expression& expression);
KernelPtr compile_choice(const Expression& expression);
KernelPtr compile_list(const Expression& expression);
KernelPtr compile_call(const Expression& expression);
// Computes a function of one text column once per text of its table.
KernelPtr compile_coded(const Expression& expression, KernelPtr kernel);

// Internal: parts of kernels.
Column constant_null(ValueType type);
// kInvalidArgument `Comparison with NaN` if a selected row of doubles has one.
Result<void> refuse_nan(const Column& column, const Selection& rows);
// Copies the selected rows of a column of one type, or null.
class ColumnMerge {
 public:
  ColumnMerge(ValueType type, ColumnBuffer& buffer) : type_(type), buffer_(buffer) {}
  void put(const Column& from, const Selection& rows);
  void put_null(const Selection& rows);
  Column take() const;

 private:
  const ValueType type_;
  ColumnBuffer& buffer_;
  bool any_null_ = false;
};

}  // namespace moraine::query
