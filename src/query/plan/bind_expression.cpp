#include "query/plan/bind_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/plan/types.h"
#include "query/syntax/format.h"

namespace moraine::query {
namespace {

bool is_number(ValueType type) {
  return type == ValueType::kInt64 || type == ValueType::kUint64 || type == ValueType::kDouble ||
         type == ValueType::kNull;
}
bool is_integer(ValueType type) {
  return is_number(type) && type != ValueType::kDouble;
}

bool takes(Operator op, ValueType type) {
  switch (op) {
    case Operator::kPlus:
    case Operator::kMinus:
    case Operator::kMultiply:
    case Operator::kDivide: return is_number(type);
    case Operator::kConcat: return type == ValueType::kString || type == ValueType::kNull;
    default: return is_integer(type);
  }
}

bool has_aggregate(const Node& node) {
  if (node.kind == NodeKind::kCall && find_aggregate(node.text) != nullptr) return true;
  return std::ranges::any_of(node.operands, has_aggregate);
}

// Names no column.
bool is_constant(const Node& node) {
  return node.kind != NodeKind::kReference && node.subquery.empty() &&
         std::ranges::all_of(node.operands, is_constant);
}

bool is_relation(Operator op) {
  return op >= Operator::kEqual && op <= Operator::kGreaterOrEqual;
}

}  // namespace

Expression ExpressionBinder::new_expression(ExpressionKind kind, ValueType type) const {
  Expression expression;
  expression.kind = kind;
  expression.type = type;
  expression.nulls = binding_.options.canonical_null_relations ? NullRelation::kNullGivesNull
                                                               : NullRelation::kNullIsLeast;
  return expression;
}

Result<Expression> ExpressionBinder::finish(const Node& node, Expression expression) {
  if (++binding_.nodes > kPlanNodesMax) {
    return binding_.refuse(node, "the query has too many parts after its aliases are replaced");
  }
  for (const Expression& operand : expression.operands) {
    expression.depth = std::max(expression.depth, operand.depth + 1);
  }
  if (expression.depth > kPlanDepthMax) {
    return binding_.refuse(node, "Maximum expression depth exceeded");
  }
  fold(expression, binding_.texts);
  return expression;
}

Result<Expression> ExpressionBinder::bind_predicate(const Node& node, std::string_view clause) {
  TRY(Expression predicate, bind(node));
  if (!adapt(predicate, ValueType::kBoolean)) {
    return binding_.refuse(
        node, fmt::format("{} is not a boolean but {}", clause, to_string(predicate.type)));
  }
  return predicate;
}

Result<Expression> ExpressionBinder::bind_aliased(const Node& node) {
  if (!node.alias.empty()) expanding_.insert(node.alias);
  auto result = bind(node);
  expanding_.erase(node.alias);
  return result;
}

Result<Expression> ExpressionBinder::bind(const Node& node) {
  // Aliases may name each other in long chains.
  if (++depth_ > 2 * kQueryDepthMax) {
    return binding_.refuse(node, "Maximum expression depth exceeded");
  }
  auto result = bind_visible(node);
  --depth_;
  return result;
}

Result<Expression> ExpressionBinder::bind_visible(const Node& node) {
  if (grouped_ && !in_aggregate_) {
    const GroupScope& group = *scope_.group;
    for (std::size_t i = 0; i < group.keys.size(); ++i) {
      const bool by_name =
          node.kind == NodeKind::kReference && node.table.empty() && node.text == group.names[i];
      // A constant is itself, also after GROUP BY of the same one.
      const bool by_text = !is_constant(node) && same_but_alias(node, *group.keys[i]);
      if (!by_name && !by_text && &node != group.keys[i]) continue;
      Expression key = make_column(i, group.types[i]);
      key.logical = group.logical[i];
      return key;
    }
  }
  return bind_new(node);
}

Result<Expression> ExpressionBinder::bind_new(const Node& node) {
  const auto literal = [&](Value value) {
    Expression expression = make_literal(value, value.type());
    expression.adapts = is_number(value.type()) && !value.is_null();
    return finish(node, std::move(expression));
  };
  switch (node.kind) {
    case NodeKind::kNull: return literal(Value());
    case NodeKind::kInt64: return literal(node.as_int64());
    case NodeKind::kUint64: return literal(node.word);
    case NodeKind::kDouble: return literal(node.as_double());
    case NodeKind::kBoolean: return literal(node.word != 0);
    case NodeKind::kString: return literal(binding_.texts.keep(node.text));
    case NodeKind::kPlaceholder: {
      TRY(const Node value, placeholder_node(node));
      return bind(value);
    }
    case NodeKind::kReference: return reference(node);
    case NodeKind::kMember: return member(node);
    case NodeKind::kElement: return element(node);
    case NodeKind::kCall: return call(node);
    case NodeKind::kUnary: return unary(node);
    case NodeKind::kBinary: return is_relation(node.op) ? comparison(node) : binary(node);
    case NodeKind::kAnd: return logic(node, ExpressionKind::kAnd);
    case NodeKind::kOr: return logic(node, ExpressionKind::kOr);
    case NodeKind::kNot: return logic(node, ExpressionKind::kNot);
    case NodeKind::kIsNull: return null_test(node);
    case NodeKind::kTuple: return binding_.refuse(node, "a tuple is not allowed here");
    case NodeKind::kIn: return in(node);
    case NodeKind::kBetween: return between(node);
    case NodeKind::kLike: return like_test(node);
    case NodeKind::kTransform: return transform(node);
    case NodeKind::kCase: return case_of(node);
    case NodeKind::kCast: return cast(node);
    case NodeKind::kSubquery:
      return binding_.refuse(node, "a subquery in an expression is not supported yet",
                             Errc::kUnsupported);
  }
  return binding_.refuse(node, "unknown expression");
}

Result<std::vector<Expression>> ExpressionBinder::bind_tuple(const Node& node) {
  std::vector<Expression> parts;
  if (node.kind == NodeKind::kPlaceholder) {
    TRY(const Node value, placeholder_node(node));
    return bind_tuple(value);
  }
  if (node.kind != NodeKind::kTuple) {
    TRY(Expression part, bind(node));
    parts.push_back(std::move(part));
    return parts;
  }
  for (const Node& operand : node.operands) {
    TRY(Expression part, bind(operand));
    parts.push_back(std::move(part));
  }
  return parts;
}

// `sum(b) as b`: where no aggregate may stand, b is the column, if there is one.
bool ExpressionBinder::hides_aggregate(const Node& alias, const Node& reference) const {
  if ((grouped_ && !in_aggregate_) || !has_aggregate(alias)) return false;
  const auto column = scope_.find("", reference.text);
  return column && column->has_value();
}

Result<Expression> ExpressionBinder::reference(const Node& node) {
  const std::string name = output_name(node, binding_.options.syntax_version);
  if (node.table.empty()) {
    const auto alias = scope_.aliases.find(node.text);
    if (alias != scope_.aliases.end() && !hides_aggregate(*alias->second, node) &&
        expanding_.insert(node.text).second) {
      auto result = bind(*alias->second);
      expanding_.erase(node.text);
      return result;
    }
  }
  if (!grouped_ || in_aggregate_) {
    auto column = scope_.find(node.table, node.text);
    if (!column) return at(node, std::move(column).error());
    if (*column) return finish(node, std::move(**column));
  }
  if (!node.table.empty() && binding_.options.syntax_version > 1) {  // column.member
    Node base = make_node(NodeKind::kReference, node.at);
    base.text = node.table;
    auto column = bind(base);
    if (column) return member_of(node, std::move(*column), node.text);
  }
  return binding_.refuse(node, fmt::format("Undefined reference \"{}\"", name));
}

Result<Expression> ExpressionBinder::unary(const Node& node) {
  TRY(Expression operand, bind(node.operands[0]));
  const bool fits =
      node.op == Operator::kBitNot ? is_integer(operand.type) : is_number(operand.type);
  if (!fits) {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: {} of {}",
                                             to_string(node.op), to_string(operand.type)));
  }
  if (node.op == Operator::kPlus) return operand;
  Expression result = new_expression(ExpressionKind::kUnary, operand.type);
  result.op = node.op;
  result.operands.push_back(std::move(operand));
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::binary(const Node& node) {
  TRY(Expression left, bind(node.operands[0]));
  TRY(Expression right, bind(node.operands[1]));
  Expression* const sides[] = {&left, &right};
  auto type = unify(sides);
  if (!type) return at(node, std::move(type).error());
  if (!takes(node.op, *type)) {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: {} of {}",
                                             to_string(node.op), to_string(*type)));
  }
  Expression result = new_expression(ExpressionKind::kBinary, *type);
  result.op = node.op;
  result.operands.push_back(std::move(left));
  result.operands.push_back(std::move(right));
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::comparison(const Node& node) {
  TRY(std::vector<Expression> left, bind_tuple(node.operands[0]));
  TRY(std::vector<Expression> right, bind_tuple(node.operands[1]));
  if (left.size() != right.size()) {
    return binding_.refuse(node, fmt::format("tuples of {} and {} values cannot be compared",
                                             left.size(), right.size()));
  }
  Expression result = new_expression(ExpressionKind::kCompare, ValueType::kBoolean);
  result.op = node.op;
  result.width = left.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    Expression* const sides[] = {&left[i], &right[i]};
    TRY_VOID(unify_compared(node, sides));
  }
  std::ranges::move(left, std::back_inserter(result.operands));
  std::ranges::move(right, std::back_inserter(result.operands));
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::logic(const Node& node, ExpressionKind kind) {
  Expression result = new_expression(kind, ValueType::kBoolean);
  for (const Node& operand : node.operands) {
    TRY(Expression bound, bind(operand));
    if (!adapt(bound, ValueType::kBoolean)) {
      return binding_.refuse(operand, fmt::format("Type mismatch in expression: {} is no boolean",
                                                  to_string(bound.type)));
    }
    result.operands.push_back(std::move(bound));
  }
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::negated(const Node& node, Expression expression) {
  if (!node.negated) return expression;
  Expression result = new_expression(ExpressionKind::kNot, ValueType::kBoolean);
  result.operands.push_back(std::move(expression));
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::null_test(const Node& node) {
  TRY(Expression operand, bind(node.operands[0]));
  Expression result = new_expression(ExpressionKind::kCall, ValueType::kBoolean);
  result.function = Function::kIsNull;
  result.operands.push_back(std::move(operand));
  TRY(result, finish(node, std::move(result)));
  return negated(node, std::move(result));
}

Result<Expression> ExpressionBinder::call(const Node& node) {
  if (node.text == "cast_operator") return cast_call(node);
  if (const AggregateInfo* info = find_aggregate(node.text)) return aggregate(node, *info);
  const FunctionInfo* info = find_function(node.text);
  if (info == nullptr) {
    return binding_.refuse(node, fmt::format("Undefined function \"{}\"", node.text));
  }
  Expression result = new_expression(ExpressionKind::kCall, ValueType::kNull);
  result.function = info->function;
  std::vector<ArgumentType> types;
  for (const Node& operand : node.operands) {
    TRY(Expression argument, bind(operand));
    types.push_back({.type = argument.type, .adapts_to = adapted_types(argument)});
    result.operands.push_back(std::move(argument));
  }
  auto match = match_signature(info->name, info->signature, types);
  if (!match) return at(node, std::move(match).error());
  if (info->function == Function::kUnsupported) {
    return binding_.refuse(node, fmt::format("function \"{}\" is not supported yet", info->name),
                           Errc::kUnsupported);
  }
  for (std::size_t i = 0; i < types.size(); ++i) adapt(result.operands[i], match->parameters[i]);
  result.type = match->result;
  TRY_VOID(check_any_call(node, result));
  return finish(node, std::move(result));
}

// Of cardinality() that which the caller chose.
std::uint8_t ExpressionBinder::precision_of(const AggregateInfo& info) const {
  const std::uint8_t chosen = binding_.options.hyper_log_log_precision;
  return chosen != 0 && info.name.starts_with("cardinality") ? chosen : info.precision;
}

Result<Expression> ExpressionBinder::aggregate(const Node& node, const AggregateInfo& info) {
  if (!grouped_ || in_aggregate_) {
    return binding_.refuse(node, fmt::format("Misuse of aggregate function \"{}\": it needs GROUP "
                                             "BY, and stands in no other aggregate",
                                             info.name));
  }
  GroupScope& group = *scope_.group;
  for (std::size_t i = 0; i < group.aggregates.size(); ++i) {
    if (same_but_alias(group.aggregate_nodes[i], node)) {
      return make_column(group.keys.size() + i, group.aggregates[i].type);
    }
  }
  AggregateCall result;
  result.function = info.function;
  result.precision = precision_of(info);
  std::vector<ArgumentType> types;
  in_aggregate_ = true;
  for (const Node& operand : node.operands) {
    auto argument = bind(operand);
    if (!argument) return std::unexpected(std::move(argument).error());
    types.push_back({.type = argument->type, .adapts_to = adapted_types(*argument)});
    result.arguments.push_back(std::move(*argument));
  }
  in_aggregate_ = false;
  auto match = match_signature(info.name, info.signature, types);
  if (!match) return at(node, std::move(match).error());
  if (info.function == AggregateFunction::kUnsupported) {
    return binding_.refuse(node, fmt::format("aggregate \"{}\" is not supported yet", info.name),
                           Errc::kUnsupported);
  }
  for (std::size_t i = 0; i < types.size(); ++i) adapt(result.arguments[i], match->parameters[i]);
  result.type = match->result;
  TRY_VOID(adapt_any_arguments(node, result));
  group.aggregate_nodes.push_back(node);
  group.aggregate_nodes.back().alias.clear();  // Its name is the printed call.
  group.aggregates.push_back(std::move(result));
  return make_column(group.keys.size() + group.aggregates.size() - 1, match->result);
}

Result<Expression> ExpressionBinder::case_of(const Node& node) {
  Expression result = new_expression(ExpressionKind::kCase, ValueType::kNull);
  result.has_subject = node.has_subject;
  for (const Node& operand : node.operands) {
    TRY(Expression bound, bind(operand));
    result.operands.push_back(std::move(bound));
  }
  if (!node.has_else) result.operands.push_back(make_literal(Value(), ValueType::kNull));
  std::vector<Expression*> whens;
  std::vector<Expression*> results{&result.operands.back()};
  if (node.has_subject) whens.push_back(&result.operands[0]);
  for (std::size_t i = whens.size(); i + 1 < result.operands.size(); i += 2) {
    whens.push_back(&result.operands[i]);
    results.push_back(&result.operands[i + 1]);
  }
  TRY_VOID(unify_compared(node, whens));
  const bool no_condition = std::ranges::any_of(whens, [](const Expression* when) {
    return when->type != ValueType::kBoolean && when->type != ValueType::kNull;
  });
  if (!node.has_subject && no_condition) {
    return binding_.refuse(node, "WHEN is not followed by a boolean");
  }
  auto type = unify(results);
  if (!type) return at(node, std::move(type).error());
  result.type = *type;
  return finish(node, std::move(result));
}

}  // namespace moraine::query
