// Values of type any: comparisons, members and elements, casts, and what their functions need.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "query/plan/bind_expression.h"
#include "query/plan/item_type.h"
#include "query/plan/types.h"

namespace moraine::query {
namespace {

using Kind = table::LogicalType::Kind;

bool is_any(const Expression* expression) {
  return expression->type == ValueType::kAny;
}

std::string type_text(const Expression& expression) {
  if (expression.logical != nullptr) return table::print_type(*expression.logical);
  return std::string(to_string(expression.type));
}

// "Int64", "int64?", ... as the name of a type of values; empty: it is none of them.
std::string simple_type(std::string_view text) {
  if (text.ends_with('?')) text.remove_suffix(1);
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  static constexpr std::string_view kTypes[] = {"int64",   "uint64", "double",
                                                "boolean", "string", "any"};
  if (name == "bool") name = "boolean";
  if (name == "yson") name = "any";
  return std::ranges::find(kTypes, name) == std::end(kTypes) ? std::string() : name;
}

}  // namespace

ItemType item_type(const table::LogicalType& part) {
  const table::LogicalType* type = &part.untagged();
  if (type->kind == Kind::kOptional) type = &type->parts[0].untagged();
  switch (type->kind) {
    case Kind::kSimple: return {.type = physical_type(type->simple)};
    case Kind::kDecimal: return {.type = ValueType::kString};
    case Kind::kNull:
    case Kind::kVoid: return {.type = ValueType::kAny};
    default: break;
  }
  return {.type = ValueType::kAny, .logical = std::make_shared<const table::LogicalType>(*type)};
}

Result<Expression> ExpressionBinder::internal_call(const Node& node, Function function,
                                                   ValueType type,
                                                   std::vector<Expression> operands) {
  Expression result = new_expression(ExpressionKind::kCall, type);
  result.function = function;
  result.operands = std::move(operands);
  return finish(node, std::move(result));
}

Result<Expression> ExpressionBinder::canonical(const Node& node, Expression expression) {
  LogicalTypePtr logical = expression.logical;
  std::vector<Expression> operands;
  operands.push_back(std::move(expression));
  TRY(Expression result,
      internal_call(node, Function::kAnyCanonical, ValueType::kAny, std::move(operands)));
  result.logical = std::move(logical);
  return result;
}

Result<Expression> ExpressionBinder::ordered(const Node& node, Expression expression) {
  std::vector<Expression> operands;
  operands.push_back(std::move(expression));
  return internal_call(node, Function::kAnyOrder, ValueType::kString, std::move(operands));
}

Result<void> ExpressionBinder::unify_compared(const Node& node,
                                              std::span<Expression* const> expressions,
                                              bool listed) {
  if (std::ranges::none_of(expressions, is_any)) {
    auto type = unify(expressions, listed);
    if (!type) return at(node, std::move(type).error());
    return {};
  }
  for (Expression* expression : expressions) {
    if (adapt(*expression, ValueType::kString)) {
      if (expression->is_literal() && expression->literal.is_null()) continue;
    }
    TRY(*expression, ordered(node, std::move(*expression)));
  }
  return {};
}

Result<Expression> ExpressionBinder::item_call(const Node& node, Function function, Expression base,
                                               Expression key, const table::LogicalType& item) {
  const ItemType part = item_type(item);
  std::vector<Expression> operands;
  operands.push_back(std::move(base));
  operands.push_back(std::move(key));
  operands.push_back(make_literal(static_cast<std::int64_t>(part.type), ValueType::kInt64));
  TRY(Expression result, internal_call(node, function, part.type, std::move(operands)));
  result.logical = part.logical;
  return result;
}

Result<Expression> ExpressionBinder::member(const Node& node) {
  TRY(Expression base, bind(node.operands[0]));
  return member_of(node, std::move(base), node.text);
}

Result<Expression> ExpressionBinder::member_of(const Node& node, Expression base,
                                               std::string_view name) {
  const table::LogicalType* type = base.logical.get();
  std::size_t place = 0;
  if (type != nullptr && type->kind == Kind::kStruct) {
    const auto found = std::ranges::find(type->names, name);
    place = static_cast<std::size_t>(found - type->names.begin());
  } else if (type != nullptr && type->kind == Kind::kTuple) {
    const char* const end = name.data() + name.size();
    const auto [stop, code] = std::from_chars(name.data(), end, place);
    if (code != std::errc() || stop != end) place = type->parts.size();
  } else {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: {} has no members; "
                                             "try_get_any(value, path) reads values of type any",
                                             type_text(base)));
  }
  if (place >= type->parts.size()) {
    return binding_.refuse(node,
                           fmt::format("Member \"{}\" is not found in {}", name, type_text(base)));
  }
  const LogicalTypePtr held = base.logical;
  Expression index = make_literal(static_cast<std::int64_t>(place), ValueType::kInt64);
  return item_call(node, Function::kListItem, std::move(base), std::move(index),
                   held->parts[place]);
}

Result<Expression> ExpressionBinder::element(const Node& node) {
  TRY(Expression base, bind(node.operands[0]));
  TRY(Expression key, bind(node.operands[1]));
  const LogicalTypePtr type = base.logical;
  if (type != nullptr && type->kind == Kind::kList) {
    return list_item(node, std::move(base), std::move(key), type->parts[0]);
  }
  if (type == nullptr || type->kind != Kind::kDict) {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: {} has no elements; "
                                             "try_get_any(value, path) reads values of type any",
                                             type_text(base)));
  }
  const ValueType wanted = item_type(type->parts[0]).type;
  if (wanted == ValueType::kAny || !adapt(key, wanted)) {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: the key of {} is {}",
                                             type_text(base), type_text(key)));
  }
  return item_call(node, Function::kDictItem, std::move(base), std::move(key), type->parts[1]);
}

Result<Expression> ExpressionBinder::list_item(const Node& node, Expression base, Expression index,
                                               const table::LogicalType& item) {
  if (index.type == ValueType::kUint64) {
    std::vector<Expression> operands;
    operands.push_back(std::move(index));
    TRY(index, internal_call(node, Function::kInt64, ValueType::kInt64, std::move(operands)));
  }
  if (!adapt(index, ValueType::kInt64)) {
    return binding_.refuse(node, fmt::format("Type mismatch in expression: the index of a list is "
                                             "{}",
                                             type_text(index)));
  }
  return item_call(node, Function::kListItem, std::move(base), std::move(index), item);
}

// What signatures do not say of functions of values.
Result<void> ExpressionBinder::check_any_call(const Node& node, Expression& call) const {
  if (call.function == Function::kSplit) {
    table::LogicalType list = table::LogicalType::of(Kind::kList);
    list.parts.push_back(table::LogicalType::of(ColumnType::kString));
    call.logical = std::make_shared<const table::LogicalType>(std::move(list));
  }
  if (call.function != Function::kMakeMap) return {};
  if (call.operands.size() % 2 != 0) {
    return binding_.refuse(node, "\"make_map\" takes an even number of arguments");
  }
  for (std::size_t i = 0; i < call.operands.size(); i += 2) {
    if (adapt(call.operands[i], ValueType::kString)) continue;
    return binding_.refuse(node.operands[i], fmt::format("a key of \"make_map\" is no string but "
                                                         "{}",
                                                         type_text(call.operands[i])));
  }
  return {};
}

Result<void> ExpressionBinder::adapt_any_arguments(const Node& node, AggregateCall& call) {
  using A = AggregateFunction;
  std::vector<Expression>& arguments = call.arguments;
  const bool extreme = call.function == A::kMin || call.function == A::kMax;
  if (extreme && is_any(&arguments[0])) {
    TRY(arguments[0], canonical(node, std::move(arguments[0])));
    arguments.push_back(arguments[0]);
    call.function = call.function == A::kMin ? A::kArgmin : A::kArgmax;
  }
  const bool by_other = call.function == A::kArgmin || call.function == A::kArgmax;
  if (by_other && is_any(&arguments[1])) {
    TRY(arguments[1], ordered(node, std::move(arguments[1])));
  }
  if (call.function == A::kDistinct || call.function == A::kDistinctState) {
    for (Expression& argument : arguments) {
      if (!is_any(&argument)) continue;
      TRY(argument, canonical(node, std::move(argument)));
    }
  }
  return {};
}

Result<Expression> ExpressionBinder::cast(const Node& node) {
  if (binding_.options.expression_builder_version < 2) {
    return binding_.refuse(node,
                           "Function \"cast_operator\" is not supported in expression builder v1");
  }
  const std::string type = simple_type(node.text);
  if (type.empty()) {
    return binding_.refuse(node, fmt::format("CAST to \"{}\" is not supported", node.text),
                           Errc::kUnsupported);
  }
  TRY(Expression operand, bind(node.operands[0]));
  if (to_string(operand.type) == type) return operand;
  Node as_call = node;
  as_call.kind = NodeKind::kCall;
  as_call.text = type == "any" ? "to_any" : type;
  const bool number = operand.type == ValueType::kInt64 || operand.type == ValueType::kUint64 ||
                      operand.type == ValueType::kDouble;
  if (type == "string" && number) as_call.text = "numeric_to_string";
  if (operand.type == ValueType::kString && type != "any") as_call.text = "parse_" + type;
  return call(as_call);
}

// cast_operator(value, "type"), as CAST is called by its function.
Result<Expression> ExpressionBinder::cast_call(const Node& node) {
  if (node.operands.size() != 2 || node.operands[1].kind != NodeKind::kString) {
    return binding_.refuse(node,
                           "No matching function: cast_operator takes a value and the name "
                           "of a type");
  }
  Node as_cast = node;
  as_cast.kind = NodeKind::kCast;
  as_cast.text = node.operands[1].text;
  as_cast.operands.pop_back();
  return cast(as_cast);
}

}  // namespace moraine::query
