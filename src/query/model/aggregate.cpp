#include "query/model/aggregate.h"

#include <algorithm>
#include <set>

#include "query/function/list_text.h"
#include "query/function/sketch.h"
#include "query/plan/evaluate.h"
#include "table/model/aggregate.h"

namespace moraine::query {
namespace {

using A = AggregateFunction;

// The arguments of each row in which none is null.
Result<std::vector<Row>> arguments_of(const AggregateCall& call, std::span<const Row* const> rows,
                                      table::TextMemory& texts) {
  std::vector<Row> all;
  for (const Row* row : rows) {
    Row values;
    bool has_null = false;
    for (const Expression& argument : call.arguments) {
      TRY(const Value value, evaluate(argument, *row, texts));
      has_null = has_null || value.is_null();
      values.push_back(value);
    }
    if (!has_null) all.push_back(std::move(values));
  }
  return all;
}

Value add(const Value& a, const Value& b) {
  switch (a.type()) {
    case ValueType::kInt64:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a.as_int64()) +
                                       static_cast<std::uint64_t>(b.as_int64()));
    case ValueType::kUint64: return a.as_uint64() + b.as_uint64();
    default: return a.as_double() + b.as_double();
  }
}

double as_number(const Value& value) {
  if (value.type() == ValueType::kInt64) return static_cast<double>(value.as_int64());
  if (value.type() == ValueType::kUint64) return static_cast<double>(value.as_uint64());
  return value.as_double();
}

// The first argument of the row whose argument `by` is least, or greatest.
Result<Value> best(const std::vector<Row>& rows, std::size_t by, bool greatest) {
  const Row* best = &rows[0];
  for (const Row& row : rows) {
    TRY(const std::strong_ordering order, order_of(row[by], (*best)[by]));
    if (greatest ? order > 0 : order < 0) best = &row;
  }
  return (*best)[0];
}

Value count_distinct(const std::vector<Row>& rows) {
  const auto less = [](const Row& a, const Row& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](const Value& x, const Value& y) { return compare(x, y) < 0; });
  };
  const std::set<Row, decltype(less)> values(rows.begin(), rows.end(), less);
  return std::uint64_t{values.size()};
}

Result<Value> distinct(const AggregateCall& call, const std::vector<Row>& rows,
                       table::TextMemory& texts) {
  const bool merges = call.function == A::kDistinctMerge || call.function == A::kDistinctMergeState;
  if (call.function == A::kDistinct && call.precision == kUniq) return count_distinct(rows);
  Sketch sketch(call.precision);
  for (const Row& row : rows) {
    if (merges) {
      TRY_VOID(sketch.merge_state(row[0].text()));
    } else {
      sketch.add(sketch_hash(row));
    }
  }
  if (call.function == A::kDistinct || call.function == A::kDistinctMerge) return sketch.count();
  return texts.keep(sketch.state());
}

// All values of the first argument; the second one leaves out nulls.
Result<Value> list_of(const AggregateCall& call, std::span<const Row* const> rows,
                      table::TextMemory& texts) {
  std::string list = "[";
  for (const Row* row : rows) {
    TRY(const Value value, evaluate(call.arguments[0], *row, texts));
    TRY(const Value no_nulls, evaluate(call.arguments[1], *row, texts));
    if (value.is_null() && !no_nulls.is_null() && no_nulls.as_boolean()) continue;
    append_item(list, value);
  }
  return Value::any(texts.keep(list + "]"));
}

Value folded(Aggregate how, const std::vector<Row>& rows, table::TextMemory& texts) {
  table::Folding folding(how);
  for (const Row& row : rows) folding.add(row[0]);
  return folding.total(texts);
}

}  // namespace

Result<Value> aggregate(const AggregateCall& call, std::span<const Row* const> rows,
                        table::TextMemory& texts) {
  if (call.function == A::kArrayAgg) return list_of(call, rows, texts);
  TRY(const std::vector<Row> arguments, arguments_of(call, rows, texts));
  switch (call.function) {
    case A::kDistinct:
    case A::kDistinctState:
    case A::kDistinctMerge:
    case A::kDistinctMergeState: return distinct(call, arguments, texts);
    default: break;
  }
  if (arguments.empty()) return Value();
  switch (call.function) {
    case A::kXdelta: return folded(Aggregate::kXdelta, arguments, texts);
    case A::kDictSum: return folded(Aggregate::kDictSum, arguments, texts);
    case A::kSum: {
      Value sum = arguments[0][0];
      for (std::size_t i = 1; i < arguments.size(); ++i) sum = add(sum, arguments[i][0]);
      return sum;
    }
    case A::kAvg: {
      double sum = 0;
      for (const Row& row : arguments) sum += as_number(row[0]);
      return sum / static_cast<double>(arguments.size());
    }
    case A::kMin: return best(arguments, 0, /*greatest=*/false);
    case A::kMax: return best(arguments, 0, /*greatest=*/true);
    case A::kFirst: return arguments[0][0];
    case A::kArgmin: return best(arguments, 1, /*greatest=*/false);
    case A::kArgmax: return best(arguments, 1, /*greatest=*/true);
    default: break;
  }
  return fail(Errc::kUnsupported, "the aggregate is not supported yet");
}

}  // namespace moraine::query
