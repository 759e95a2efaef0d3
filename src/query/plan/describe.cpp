// Plans as text.

#include <fmt/format.h>

#include "query/plan/plan.h"
#include "query/syntax/lexer.h"

namespace moraine::query {
namespace {

std::string text_of(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return "null";
    case ValueType::kInt64: return std::to_string(value.as_int64());
    case ValueType::kUint64: return std::to_string(value.as_uint64()) + "u";
    case ValueType::kDouble: return fmt::format("{}d", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    default: return quote(value.text());
  }
}

class Describer {
 public:
  explicit Describer(std::span<const PlanColumn> columns) : columns_(columns) {}

  std::string list(const std::vector<Expression>& expressions, std::size_t first = 0) const {
    std::string out;
    for (std::size_t i = first; i < expressions.size(); ++i) {
      out += (i == first ? "" : ", ") + one(expressions[i]);
    }
    return out;
  }

  std::string one(const Expression& e) const {
    switch (e.kind) {
      case ExpressionKind::kLiteral: return text_of(e.literal);
      case ExpressionKind::kColumn: return columns_[e.column].name;
      case ExpressionKind::kCall:
        return fmt::format("{}({})", info_of(e.function).name, list(e.operands));
      case ExpressionKind::kUnary: return fmt::format("{}({})", to_string(e.op), list(e.operands));
      case ExpressionKind::kNot: return fmt::format("not({})", list(e.operands));
      case ExpressionKind::kBinary: return infix(e, to_string(e.op));
      case ExpressionKind::kCompare:
        return e.width == 1 ? infix(e, to_string(e.op)) : wide(to_string(e.op), e);
      case ExpressionKind::kAnd: return infix(e, "and");
      case ExpressionKind::kOr: return infix(e, "or");
      case ExpressionKind::kIn: return wide("in", e);
      case ExpressionKind::kBetween: return wide("between", e);
      case ExpressionKind::kLike: return infix(e, to_string(e.op));
      case ExpressionKind::kTransform: return wide("transform", e);
      case ExpressionKind::kCase: return wide("case", e);
    }
    return "?";
  }

 private:
  std::string infix(const Expression& e, std::string_view op) const {
    std::string out = "(";
    for (std::size_t i = 0; i < e.operands.size(); ++i) {
      if (i > 0) out += fmt::format(" {} ", op);
      out += one(e.operands[i]);
    }
    return out + ")";
  }
  std::string wide(std::string_view op, const Expression& e) const {
    return fmt::format("{}[{}]({})", op, e.width, list(e.operands));
  }

  const std::span<const PlanColumn> columns_;
};

std::string names_of(const std::vector<PlanColumn>& columns) {
  std::string out;
  for (const PlanColumn& column : columns) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", column.name, to_string(column.type));
  }
  return out;
}

struct StepText {
  const PlanNode& node;

  Describer input(std::size_t i = 0) const { return Describer(node.inputs[i].columns); }

  std::string operator()(const Scan& scan) const {
    std::string out = fmt::format("scan {} [{}]", scan.path, names_of(node.columns));
    for (const KeyRange& range : scan.ranges) out += " " + describe(range);
    return out + (scan.exact ? " exact" : "");
  }
  std::string operator()(const Filter& filter) const {
    return "filter " + input().one(filter.predicate);
  }
  std::string operator()(const Join& join) const {
    return fmt::format("{}join ({}) = ({}) by {} key columns", join.left ? "left " : "",
                       input(0).list(join.left_keys), input(1).list(join.right_keys),
                       join.key_prefix);
  }
  std::string operator()(const ArrayJoin& join) const {
    std::string out = join.left ? "left array join " : "array join ";
    const std::size_t first = node.columns.size() - join.lists.size();
    for (std::size_t i = 0; i < join.lists.size(); ++i) {
      const PlanColumn& item = node.columns[first + i];
      out += fmt::format("{}{}:{} of {}", i == 0 ? "" : ", ", item.name, to_string(item.type),
                         input().one(join.lists[i]));
    }
    if (join.predicate) out += " where " + Describer(node.columns).one(*join.predicate);
    return out;
  }
  std::string operator()(const Group& group) const {
    std::string out = "group by " + input().list(group.keys);
    for (const AggregateCall& call : group.aggregates) {
      out += fmt::format(", {}({})", name_of(call.function, call.precision),
                         input().list(call.arguments));
    }
    if (group.having) out += " having " + Describer(node.columns).one(*group.having);
    if (group.totals == Totals::kBeforeHaving) out += " totals of all";
    if (group.totals == Totals::kAfterHaving) out += " totals";
    return out;
  }
  std::string operator()(const Order& order) const {
    std::string out = "order by ";
    for (const OrderKey& key : order.keys) {
      if (&key != order.keys.data()) out += ", ";
      out += input().one(key.expression) + (key.descending ? " desc" : "");
    }
    return out;
  }
  std::string operator()(const Limit& limit) const {
    return fmt::format("limit {} offset {}", limit.limit, limit.offset);
  }
  std::string operator()(const Project& project) const {
    std::string out = "project ";
    for (std::size_t i = 0; i < project.columns.size(); ++i) {
      out += fmt::format("{}{} = {}", i == 0 ? "" : ", ", node.columns[i].name,
                         input().one(project.columns[i]));
    }
    return out;
  }
};

void describe_steps(const PlanNode& node, std::size_t depth, std::string& out) {
  out += fmt::format("{}{}\n", std::string(depth * 2, ' '), std::visit(StepText{node}, node.step));
  for (const PlanNode& input : node.inputs) describe_steps(input, depth + 1, out);
}

std::string bound_text(const KeyBound& bound) {
  std::string out;
  for (const Value& value : bound.prefix) out += (out.empty() ? "" : ",") + text_of(value);
  return out + (bound.after ? "+" : "");
}

}  // namespace

std::string describe(const PlanNode& root) {
  std::string out;
  describe_steps(root, 0, out);
  return out;
}

std::string describe(const Expression& expression, std::span<const PlanColumn> columns) {
  return Describer(columns).one(expression);
}

std::string describe(const KeyRange& range) {
  return fmt::format("[{}..{}]", bound_text(range.from), bound_text(range.to));
}

}  // namespace moraine::query
