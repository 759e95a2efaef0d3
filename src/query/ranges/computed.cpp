#include "query/ranges/computed.h"

#include <algorithm>
#include <set>

#include "query/plan/bind.h"
#include "query/plan/evaluate.h"
#include "query/ranges/infer.h"
#include "query/seeded_bug.h"

namespace moraine::query {
namespace {

// Signed and unsigned 64-bit integers in one type.
using Wide = __int128;

struct ComputedColumn {
  std::size_t column = 0;
  Expression expression;
  std::vector<bool> arguments;  // By key column.
};

std::optional<ComputedColumn> compile(const TableSchema& schema, std::size_t column,
                                      table::TextMemory& texts) {
  std::vector<PlanColumn> columns;
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    columns.push_back(
        {.name = schema.columns[i].name, .type = physical_type(schema.columns[i].type)});
  }
  const std::string& text = schema.columns[column].expression;
  const auto node = parse_expression(text);
  if (!node) return std::nullopt;
  auto expression = bind_expression(*node, text, columns, texts);
  if (!expression || expression->type != columns[column].type) return std::nullopt;
  ComputedColumn computed{.column = column, .expression = std::move(*expression), .arguments = {}};
  computed.arguments.resize(columns.size());
  mark_columns(computed.expression, computed.arguments);
  return computed;
}

// By which constants a column is divided; 1: it occurs elsewhere too.
void collect_divisors(const Expression& e, std::size_t column, std::set<Wide>& divisors) {
  if (e.kind == ExpressionKind::kColumn && e.column == column) divisors.insert(1);
  const bool division = e.kind == ExpressionKind::kBinary && e.op == Operator::kDivide &&
                        e.operands[0].kind == ExpressionKind::kColumn &&
                        e.operands[0].column == column && e.operands[1].is_literal();
  if (division) {
    const Value& divisor = e.operands[1].literal;
    Wide size = 1;
    if (divisor.type() == ValueType::kInt64) size = divisor.as_int64();
    if (divisor.type() == ValueType::kUint64) size = divisor.as_uint64();
    if (size < 0) size = -size;
    if (size > 0) {
      divisors.insert(size);
      return;
    }
  }
  for (const Expression& operand : e.operands) collect_divisors(operand, column, divisors);
}

// The least number above `value` whose quotient, rounded towards zero, is another one.
Wide next_quotient(Wide value, Wide divisor) {
  const Wide quotient = value / divisor;
  return quotient < 0 ? quotient * divisor + 1 : (quotient + 1) * divisor;
}

std::optional<Wide> integer(const Value& value) {
  if (value.type() == ValueType::kInt64) return value.as_int64();
  if (value.type() == ValueType::kUint64) return value.as_uint64();
  return std::nullopt;
}

// Values of an argument such that the others give no other results; nullopt: unknown or too many.
std::optional<std::vector<Value>> representatives(const KeyEdge& edge, ValueType type,
                                                  const std::set<Wide>& divisors,
                                                  std::size_t values_max) {
  if (const auto value = edge.only()) return std::vector{*value};
  if (edge.to.end || edge.from.value.is_null()) return std::nullopt;
  const auto from = integer(edge.from.value);
  const auto to = integer(edge.to.value);
  if (!from || !to) return std::nullopt;
  const Wide last = edge.to.after ? *to : *to - 1;
  std::vector<Value> values;
  for (Wide at = edge.from.after ? *from + 1 : *from; at <= last;) {
    if (values.size() == values_max) return std::nullopt;
    values.push_back(type == ValueType::kInt64 ? Value(static_cast<std::int64_t>(at))
                                               : Value(static_cast<std::uint64_t>(at)));
    Wide next = last + 1;
    for (const Wide divisor : divisors) next = std::min(next, next_quotient(at, divisor));
    if (has_bug(SeededBug::kQuotientSkipped)) ++next;
    at = next;
  }
  return values;
}

struct ValueLess {
  bool operator()(const Value& a, const Value& b) const { return compare(a, b) < 0; }
};
using ValueSet = std::set<Value, ValueLess>;

// What `expression % n` may be; nullopt: it has another form, or more than `values_max` values.
std::optional<ValueSet> remainders(const Expression& e, std::size_t values_max) {
  if (e.kind != ExpressionKind::kBinary || e.op != Operator::kModulo ||
      !e.operands[1].is_literal()) {
    return std::nullopt;
  }
  const auto divisor = integer(e.operands[1].literal);
  if (!divisor) return std::nullopt;
  const Wide size = *divisor < 0 ? -*divisor : *divisor;
  const bool is_signed = e.type == ValueType::kInt64;
  if (size == 0 || size * (is_signed ? 2 : 1) > static_cast<Wide>(values_max)) return std::nullopt;
  ValueSet values{Value()};
  if (has_bug(SeededBug::kRemainderWithoutNull)) values.clear();
  for (Wide at = is_signed ? 1 - size : 0; at < size; ++at) {
    values.insert(is_signed ? Value(static_cast<std::int64_t>(at))
                            : Value(static_cast<std::uint64_t>(at)));
  }
  return values;
}

// A way from the root of a set: for each key column its interval, if it has one.
using Path = std::vector<std::optional<KeyEdge>>;

class Restriction {
 public:
  Restriction(const ComputedColumn& computed, KeySetBuilder& builder, table::TextMemory& texts,
              std::size_t ranges_max)
      : computed_(computed),
        builder_(builder),
        texts_(texts),
        ranges_max_(ranges_max),
        values_max_(std::min(ranges_max, kComputedValuesMax)) {
    divisors_.resize(computed.arguments.size());
    for (std::size_t i = 0; i < divisors_.size(); ++i) {
      collect_divisors(computed.expression, i, divisors_[i]);
      if (computed.arguments[i]) last_ = std::max(last_, i);
    }
    last_ = std::max(last_, computed.column);
  }

  KeySet apply(const KeySet& keys) {
    Path path(computed_.arguments.size());
    if (!walk(keys, path) || builder_.exceeded()) return keys;
    return builder_.unite_all(std::move(parts_));
  }

 private:
  // False: too many combinations.
  bool walk(const KeySet& keys, Path& path) {
    if (is_empty(keys)) return true;
    if (is_all(keys) || keys->column > last_) return add(keys, path);
    for (const KeyEdge& edge : keys->edges) {
      path[keys->column] = edge;
      if (!walk(edge.below, path)) return false;
      path[keys->column].reset();
    }
    return true;
  }

  bool add(const KeySet& below, const Path& path) {
    if (parts_.size() == ranges_max_) return false;
    KeySet part = below;
    for (std::size_t column = path.size(); column-- > 0;) {
      if (!path[column]) continue;
      part = builder_.node(
          column, {{.from = path[column]->from, .to = path[column]->to, .below = std::move(part)}});
    }
    const std::size_t next = computed_.column + 1;
    const bool is_narrowed =
        next <= last_ ? path[next].has_value() : !is_all(below) && below->column == next;
    const auto values = possible_values(path);
    // Several values are several ranges: of no use unless the next column narrows each.
    if (values && (is_narrowed || values->size() <= 1)) {
      values_ += values->size();
      if (values_ > ranges_max_) return false;
      part = builder_.intersect(part, set_of(*values));
    }
    parts_.push_back(std::move(part));
    return !builder_.exceeded();
  }

  KeySet set_of(const ValueSet& values) {
    std::vector<KeyEdge> edges;
    for (const Value& value : values) {
      edges.push_back(
          {.from = {.value = value}, .to = {.value = value, .after = true}, .below = nullptr});
    }
    return builder_.node(computed_.column, std::move(edges));
  }

  std::optional<ValueSet> possible_values(const Path& path) {
    auto by_remainder = remainders(computed_.expression, values_max_);
    auto by_arguments = results(path);
    if (!by_arguments) return by_remainder;
    if (by_remainder && by_remainder->size() < by_arguments->size()) return by_remainder;
    return by_arguments;
  }

  // The results for all combinations of the arguments.
  std::optional<ValueSet> results(const Path& path) {
    std::vector<std::vector<Value>> choices(path.size(), {Value()});
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (!computed_.arguments[i]) continue;
      if (!path[i]) return std::nullopt;
      auto values = representatives(*path[i], type_of(i), divisors_[i], values_max_);
      if (!values) return std::nullopt;
      combinations *= std::max<std::size_t>(values->size(), 1);

      if (combinations > values_max_) return std::nullopt;
      choices[i] = std::move(*values);
      if (choices[i].empty()) return ValueSet();
    }
    ValueSet all;
    std::vector<Value> row(path.size());
    for (std::size_t number = 0; number < combinations; ++number) {
      std::size_t rest = number;
      for (std::size_t i = 0; i < path.size(); ++i) {
        row[i] = choices[i][rest % choices[i].size()];
        rest /= choices[i].size();
      }
      const auto value = evaluate(computed_.expression, row, texts_);
      // Such a row cannot have been written, but that is for others to rely on.
      if (!value) return std::nullopt;
      all.insert(*value);
    }
    return all;
  }

  ValueType type_of(std::size_t column) const { return find_type(computed_.expression, column); }
  static ValueType find_type(const Expression& e, std::size_t column) {
    if (e.kind == ExpressionKind::kColumn && e.column == column) return e.type;
    for (const Expression& operand : e.operands) {
      const ValueType type = find_type(operand, column);
      if (type != ValueType::kNull) return type;
    }
    return ValueType::kNull;
  }

  const ComputedColumn& computed_;
  KeySetBuilder& builder_;
  table::TextMemory& texts_;
  const std::size_t ranges_max_;
  const std::size_t values_max_;  // For one combination.
  std::size_t values_ = 0;
  std::size_t last_ = 0;  // No column after it matters.
  std::vector<std::set<Wide>> divisors_;
  std::vector<KeySet> parts_;
};

}  // namespace

KeySet restrict_computed(KeySet keys, const TableSchema& schema, KeySetBuilder& builder,
                         table::TextMemory& texts, std::size_t ranges_max) {
  // From the last: whether a column is narrowed decides what is done with the one before.
  for (std::size_t i = schema.key_count(); i-- > 0;) {
    if (schema.columns[i].expression.empty() || is_all(keys) || is_empty(keys)) continue;
    const auto computed = compile(schema, i, texts);
    if (computed) keys = Restriction(*computed, builder, texts, ranges_max).apply(keys);
  }
  return keys;
}

}  // namespace moraine::query
