// Kernels of AND, OR, NOT, and of what computes only one of several operands: CASE, if, coalesce.

#include <algorithm>

#include "query/execute/kernel.h"
#include "query/plan/evaluate.h"

namespace moraine::query {
namespace {

class AndOrKernel final : public Kernel {
 public:
  explicit AndOrKernel(const Expression& e)
      : Kernel(e.type),
        decisive_(e.kind == ExpressionKind::kOr),
        operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    std::uint64_t* const words = buffer_.words();
    std::uint8_t* const nulls = buffer_.nulls();
    for_each(rows, [&](std::size_t row) {
      words[row] = decisive_ ? 0 : 1;
      nulls[row] = 0;
    });
    Selection open = rows;  // Not decided yet.
    for (const KernelPtr& operand : operands_) {
      if (open.count == 0) break;
      TRY(const Column column, operand->eval(batch, open));
      std::uint32_t* const left = open_.rows();
      std::size_t count = 0;
      for_each(open, [&](std::size_t row) {
        const bool unknown = column.type == ValueType::kNull || column.is_null(row);
        const bool decides = !unknown && (column.words[column.at(row)] != 0) == decisive_;
        if (unknown) nulls[row] = 1;
        if (decides) {
          words[row] = decisive_ ? 1 : 0;
          nulls[row] = 0;
        }
        left[count] = static_cast<std::uint32_t>(row);
        count += decides ? 0 : 1;
      });
      open = {.rows = left, .count = count};
    }
    return Column{.type = type(), .words = words, .nulls = nulls};
  }

  Result<std::size_t> filter(const Batch& batch, const Selection& rows,
                             std::uint32_t* out) override {
    return decisive_ ? filter_or(batch, rows, out) : filter_and(batch, rows, out);
  }

 private:
  Result<std::size_t> filter_and(const Batch& batch, const Selection& rows, std::uint32_t* out) {
    Selection left = rows;
    for (const KernelPtr& operand : operands_) {
      if (left.count == 0) break;
      TRY(const std::size_t kept, operand->filter(batch, left, out));
      left = {.rows = out, .count = kept};
    }
    return left.count;
  }

  Result<std::size_t> filter_or(const Batch& batch, const Selection& rows, std::uint32_t* out) {
    std::uint8_t* const matched = buffer_.nulls();
    for_each(rows, [&](std::size_t row) { matched[row] = 0; });
    Selection open = rows;
    for (std::size_t i = 0; i < operands_.size() && open.count > 0; ++i) {
      std::uint32_t* const found = found_.rows();
      TRY(const std::size_t count, operands_[i]->filter(batch, open, found));
      for (std::size_t j = 0; j < count; ++j) matched[found[j]] = 1;
      std::uint32_t* const left = open_.rows();
      std::size_t rest = 0;
      for_each(open, [&](std::size_t row) {
        left[rest] = static_cast<std::uint32_t>(row);
        rest += matched[row] == 0 ? 1 : 0;
      });
      open = {.rows = left, .count = rest};
    }
    std::size_t kept = 0;
    for_each(rows, [&](std::size_t row) {
      out[kept] = static_cast<std::uint32_t>(row);
      kept += matched[row];
    });
    return kept;
  }

  const bool decisive_;
  const std::vector<KernelPtr> operands_;
  ColumnBuffer buffer_;
  SelectionBuffer open_;
  SelectionBuffer found_;
};

class NotKernel final : public Kernel {
 public:
  explicit NotKernel(const Expression& e) : Kernel(e.type), operand_(compile(e.operands[0])) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column column, operand_->eval(batch, rows));
    if (column.all_null() || column.type == ValueType::kNull) return constant_null(type());
    std::uint64_t* const words = buffer_.words();
    if (column.constant) {
      words[0] = column.words[0] ^ 1;
      return Column{.type = type(), .constant = true, .words = words};
    }
    for_each(rows, [&](std::size_t row) { words[row] = column.words[row] ^ 1; });
    return Column{.type = type(), .words = words, .nulls = column.nulls};
  }

 private:
  const KernelPtr operand_;
  ColumnBuffer buffer_;
};

// if(condition, then, else): null if the condition is.
class IfKernel final : public Kernel {
 public:
  explicit IfKernel(const Expression& e)
      : Kernel(e.type), operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    TRY(const Column condition, operands_[0]->eval(batch, rows));
    if (condition.type == ValueType::kNull || condition.all_null()) return constant_null(type());
    Selection when{.rows = when_.rows(), .count = 0};
    Selection otherwise{.rows = otherwise_.rows(), .count = 0};
    Selection unknown{.rows = unknown_.rows(), .count = 0};
    for_each(rows, [&](std::size_t row) {
      const auto number = static_cast<std::uint32_t>(row);
      if (condition.is_null(row)) {
        unknown_.rows()[unknown.count++] = number;
      } else if (condition.words[condition.at(row)] != 0) {
        when_.rows()[when.count++] = number;
      } else {
        otherwise_.rows()[otherwise.count++] = number;
      }
    });
    ColumnMerge merge(type(), buffer_);
    merge.put_null(unknown);
    if (when.count > 0) {
      TRY(const Column column, operands_[1]->eval(batch, when));
      merge.put(column, when);
    }
    if (otherwise.count > 0) {
      TRY(const Column column, operands_[2]->eval(batch, otherwise));
      merge.put(column, otherwise);
    }
    return merge.take();
  }

 private:
  const std::vector<KernelPtr> operands_;
  ColumnBuffer buffer_;
  SelectionBuffer when_;
  SelectionBuffer otherwise_;
  SelectionBuffer unknown_;
};

// The first operand that is not null.
class CoalesceKernel final : public Kernel {
 public:
  explicit CoalesceKernel(const Expression& e)
      : Kernel(e.type), operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    ColumnMerge merge(type(), buffer_);
    Selection open = rows;
    for (const KernelPtr& operand : operands_) {
      if (open.count == 0) break;
      TRY(const Column column, operand->eval(batch, open));
      if (column.type == ValueType::kNull || column.all_null()) continue;
      if (open.count == rows.count && column.without_nulls()) return column;
      std::uint32_t* const found = found_.rows();
      std::uint32_t* const left = open_.rows();
      std::size_t found_count = 0;
      std::size_t left_count = 0;
      for_each(open, [&](std::size_t row) {
        const bool is_null = column.is_null(row);
        found[found_count] = static_cast<std::uint32_t>(row);
        found_count += is_null ? 0 : 1;
        left[left_count] = static_cast<std::uint32_t>(row);
        left_count += is_null ? 1 : 0;
      });
      merge.put(column, {.rows = found, .count = found_count});
      open = {.rows = left, .count = left_count};
    }
    merge.put_null(open);
    return merge.take();
  }

 private:
  const std::vector<KernelPtr> operands_;
  ColumnBuffer buffer_;
  SelectionBuffer open_;
  SelectionBuffer found_;
};

class CaseKernel final : public Kernel {
 public:
  explicit CaseKernel(const Expression& e)
      : Kernel(e.type), expression_(e), operands_(compile(std::span(e.operands))) {}

  Result<Column> eval(const Batch& batch, const Selection& rows) override {
    ColumnMerge merge(type(), buffer_);
    Column subject;
    const std::size_t first = expression_.has_subject ? 1 : 0;
    if (expression_.has_subject) {
      TRY(subject, operands_[0]->eval(batch, rows));
    }
    Selection open = rows;
    for (std::size_t i = first; i + 1 < operands_.size() && open.count > 0; i += 2) {
      TRY(const Column when, operands_[i]->eval(batch, open));
      Selection found{.rows = found_.rows(), .count = 0};
      Selection left{.rows = open_.rows(), .count = 0};
      for (std::size_t j = 0; j < open.count; ++j) {
        const std::uint32_t row = open[j];
        TRY(const bool chosen, is_chosen(subject, when, row));
        if (chosen) {
          found_.rows()[found.count++] = row;
        } else {
          open_.rows()[left.count++] = row;
        }
      }
      if (found.count > 0) {
        TRY(const Column then, operands_[i + 1]->eval(batch, found));
        merge.put(then, found);
      }
      open = left;
    }
    if (open.count > 0) {
      TRY(const Column otherwise, operands_.back()->eval(batch, open));
      merge.put(otherwise, open);
    }
    return merge.take();
  }

 private:
  Result<bool> is_chosen(const Column& subject, const Column& when, std::size_t row) const {
    const Value value = when.value(row);
    if (!expression_.has_subject) {
      return value.type() == ValueType::kBoolean && value.as_boolean();
    }
    const Value compared = subject.value(row);
    const bool unknown = value.is_null() || compared.is_null();
    if (expression_.nulls == NullRelation::kNullGivesNull && unknown) return false;
    TRY(const std::strong_ordering order, order_of(compared, value));
    return order == 0;
  }

  const Expression& expression_;
  const std::vector<KernelPtr> operands_;
  ColumnBuffer buffer_;
  SelectionBuffer open_;
  SelectionBuffer found_;
};

}  // namespace

KernelPtr compile_logic(const Expression& e) {
  const bool booleans = std::ranges::all_of(e.operands, [](const Expression& operand) {
    return operand.type == ValueType::kBoolean || operand.type == ValueType::kNull;
  });
  if (!booleans) return nullptr;
  if (e.kind == ExpressionKind::kNot) return std::make_unique<NotKernel>(e);
  // filter() of an operand needs a boolean.
  const bool typed = std::ranges::all_of(
      e.operands, [](const Expression& operand) { return operand.type == ValueType::kBoolean; });
  return typed ? std::make_unique<AndOrKernel>(e) : nullptr;
}

KernelPtr compile_choice(const Expression& e) {
  if (e.kind == ExpressionKind::kCase) return std::make_unique<CaseKernel>(e);
  if (e.function == Function::kIf) return std::make_unique<IfKernel>(e);
  return std::make_unique<CoalesceKernel>(e);
}

}  // namespace moraine::query
