// Tests with lists of values, and placeholders.

#include <fmt/format.h>

#include <algorithm>

#include "query/plan/bind_expression.h"
#include "query/plan/types.h"

namespace moraine::query {
namespace {

// A scalar, or a list as a tuple.
Result<Node> node_of(const YsonNode& value, std::uint32_t at) {
  Node node = make_node(NodeKind::kNull, at);
  if (value.is_entity()) return node;
  if (const auto* list = value.as<YsonList>()) {
    node.kind = NodeKind::kTuple;
    for (const YsonNode& item : *list) {
      TRY(Node operand, node_of(item, at));
      node.operands.push_back(std::move(operand));
    }
    return node;
  }
  if (const auto* number = value.as<std::int64_t>()) {
    node.kind = NodeKind::kInt64;
    node.word = static_cast<std::uint64_t>(*number);
  } else if (const auto* natural = value.as<std::uint64_t>()) {
    node.kind = NodeKind::kUint64;
    node.word = *natural;
  } else if (const auto* real = value.as<double>()) {
    node.kind = NodeKind::kDouble;
    node.word = __builtin_bit_cast(std::uint64_t, *real);
  } else if (const auto* flag = value.as<bool>()) {
    node.kind = NodeKind::kBoolean;
    node.word = *flag ? 1 : 0;
  } else if (const auto* text = value.as<std::string>()) {
    node.kind = NodeKind::kString;
    node.text = *text;
  } else {
    return fail(Errc::kInvalidArgument, "a placeholder holds a map");
  }
  return node;
}

}  // namespace

Result<Node> ExpressionBinder::placeholder_node(const Node& node) const {
  const YsonMap* values = binding_.options.placeholders;
  const YsonNode* value = values == nullptr ? nullptr : values->find(node.text);
  if (value == nullptr) {
    return binding_.refuse(node, fmt::format("placeholder \"{}\" has no value", node.text));
  }
  auto result = node_of(*value, node.at);
  if (!result) return at(node, std::move(result).error());
  return result;
}

Result<std::vector<Node>> ExpressionBinder::items(const Node& node, std::size_t first) {
  const std::span<const Node> operands = std::span(node.operands).subspan(first);
  if (operands.size() == 1 && operands[0].kind == NodeKind::kPlaceholder && !node.is_list) {
    TRY(Node list, placeholder_node(operands[0]));
    if (list.kind != NodeKind::kTuple) {
      return binding_.refuse(operands[0], "the placeholder's value is not a list");
    }
    return std::move(list.operands);
  }
  return std::vector<Node>(operands.begin(), operands.end());
}

Result<void> ExpressionBinder::check_constant(const Node& node, const Expression& item) const {
  if (item.is_literal() || binding_.options.expression_builder_version >= 2) return {};
  return binding_.refuse(node,
                         "the value is not constant, which expression builder v1 does not "
                         "support");
}

// Each item has as many values as the subject, or fewer (bounds of BETWEEN).
Result<void> ExpressionBinder::unify_items(const Node& node, std::vector<Expression>& subject,
                                           std::vector<std::vector<Expression>>& items) {
  for (std::size_t part = 0; part < subject.size(); ++part) {
    std::vector<Expression*> column{&subject[part]};
    for (std::vector<Expression>& item : items) {
      if (part < item.size()) column.push_back(&item[part]);
    }
    TRY_VOID(unify_compared(node, column, /*listed=*/true));
  }
  return {};
}

Result<Expression> ExpressionBinder::in(const Node& node) {
  TRY(std::vector<Expression> subject, bind_tuple(node.operands[0]));
  TRY(const std::vector<Node> nodes, items(node, 1));
  std::vector<std::vector<Expression>> list;
  for (const Node& item_node : nodes) {
    TRY(std::vector<Expression> item, bind_tuple(item_node));
    if (item.size() != subject.size()) {
      return binding_.refuse(item_node, fmt::format("an item of {} values is looked for among {}",
                                                    item.size(), subject.size()));
    }
    for (const Expression& part : item) {
      TRY_VOID(check_constant(item_node, part));
    }
    list.push_back(std::move(item));
  }
  TRY_VOID(unify_items(node, subject, list));
  Expression result = new_expression(ExpressionKind::kIn, ValueType::kBoolean);
  result.width = subject.size();
  std::ranges::move(subject, std::back_inserter(result.operands));
  for (std::vector<Expression>& item : list) {
    std::ranges::move(item, std::back_inserter(result.operands));
  }
  TRY(result, finish(node, std::move(result)));
  return negated(node, std::move(result));
}

Result<Expression> ExpressionBinder::between(const Node& node) {
  TRY(std::vector<Expression> subject, bind_tuple(node.operands[0]));
  std::vector<std::vector<Expression>> list;
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    TRY(std::vector<Expression> bound, bind_tuple(node.operands[i]));
    if (bound.empty() || bound.size() > subject.size()) {
      return binding_.refuse(
          node.operands[i],
          fmt::format("a bound of {} values is compared with {}", bound.size(), subject.size()));
    }
    for (const Expression& part : bound) {
      TRY_VOID(check_constant(node.operands[i], part));
    }
    list.push_back(std::move(bound));
  }
  TRY_VOID(unify_items(node, subject, list));
  Expression result = new_expression(ExpressionKind::kBetween, ValueType::kBoolean);
  result.width = subject.size();
  std::ranges::move(subject, std::back_inserter(result.operands));
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    result.bounds.push_back({.lower = list[i].size(), .upper = list[i + 1].size()});
    std::ranges::move(list[i], std::back_inserter(result.operands));
    std::ranges::move(list[i + 1], std::back_inserter(result.operands));
  }
  TRY(result, finish(node, std::move(result)));
  return negated(node, std::move(result));
}

Result<Expression> ExpressionBinder::like_test(const Node& node) {
  Expression result = new_expression(ExpressionKind::kLike, ValueType::kBoolean);
  result.op = node.op;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    TRY(Expression operand, bind(node.operands[i]));
    if (!adapt(operand, ValueType::kString)) {
      return binding_.refuse(
          node.operands[i], fmt::format("Type mismatch in expression: {} of {}", to_string(node.op),
                                        to_string(operand.type)));
    }
    if (i < 2) {
      result.operands.push_back(std::move(operand));
      continue;
    }
    if (!operand.is_literal() || operand.literal.is_null() || operand.literal.text().size() != 1) {
      return binding_.refuse(node.operands[i], "ESCAPE is not one constant character");
    }
    result.escape = operand.literal.text()[0];
  }
  TRY(result, finish(node, std::move(result)));
  return negated(node, std::move(result));
}

Result<Expression> ExpressionBinder::transform(const Node& node) {
  TRY(std::vector<Expression> subject, bind_tuple(node.operands[0]));
  TRY(const Node from, node.operands[1].kind == NodeKind::kPlaceholder
                           ? placeholder_node(node.operands[1])
                           : Result<Node>(node.operands[1]));
  TRY(const Node to, node.operands[2].kind == NodeKind::kPlaceholder
                         ? placeholder_node(node.operands[2])
                         : Result<Node>(node.operands[2]));
  if (from.operands.size() != to.operands.size()) {
    return binding_.refuse(node, fmt::format("TRANSFORM of {} values to {} values",
                                             from.operands.size(), to.operands.size()));
  }
  std::vector<std::vector<Expression>> list;
  for (const Node& item_node : from.operands) {
    TRY(std::vector<Expression> item, bind_tuple(item_node));
    if (item.size() != subject.size()) {
      return binding_.refuse(item_node, fmt::format("an item of {} values is looked for among {}",
                                                    item.size(), subject.size()));
    }
    list.push_back(std::move(item));
  }
  TRY_VOID(unify_items(node, subject, list));
  std::vector<Expression> results;
  for (const Node& value_node : to.operands) {
    TRY(Expression value, bind(value_node));
    results.push_back(std::move(value));
  }
  Expression otherwise = make_literal(Value(), ValueType::kNull);
  if (node.operands.size() > 3) {
    TRY(otherwise, bind(node.operands[3]));
  }
  results.push_back(std::move(otherwise));
  std::vector<Expression*> values;
  for (Expression& value : results) values.push_back(&value);
  auto type = unify(values);
  if (!type) return at(node, std::move(type).error());

  Expression result = new_expression(ExpressionKind::kTransform, *type);
  result.width = subject.size();
  std::ranges::move(subject, std::back_inserter(result.operands));
  for (std::vector<Expression>& item : list) {
    std::ranges::move(item, std::back_inserter(result.operands));
  }
  std::ranges::move(results, std::back_inserter(result.operands));
  return finish(node, std::move(result));
}

}  // namespace moraine::query
