#include "query/syntax/tree.h"

#include <tuple>

namespace moraine::query {

std::string_view to_string(Operator op) {
  switch (op) {
    case Operator::kNone: return "";
    case Operator::kPlus: return "+";
    case Operator::kMinus: return "-";
    case Operator::kBitNot: return "~";
    case Operator::kMultiply: return "*";
    case Operator::kDivide: return "/";
    case Operator::kModulo: return "%";
    case Operator::kConcat: return "||";
    case Operator::kShiftLeft: return "<<";
    case Operator::kShiftRight: return ">>";
    case Operator::kBitAnd: return "&";
    case Operator::kBitXor: return "^";
    case Operator::kBitOr: return "|";
    case Operator::kEqual: return "=";
    case Operator::kNotEqual: return "!=";
    case Operator::kLess: return "<";
    case Operator::kLessOrEqual: return "<=";
    case Operator::kGreater: return ">";
    case Operator::kGreaterOrEqual: return ">=";
    case Operator::kLike: return "LIKE";
    case Operator::kIlike: return "ILIKE";
    case Operator::kRegexp: return "REGEXP";
  }
  return "?";
}

Node make_node(NodeKind kind, std::uint32_t at) {
  Node node;
  node.kind = kind;
  node.at = at;
  return node;
}

bool Node::operator==(const Node& other) const {
  const auto parts = [](const Node& n) {
    return std::tie(n.kind, n.op, n.negated, n.has_subject, n.has_else, n.is_list, n.word, n.text,
                    n.table, n.alias, n.operands, n.subquery);
  };
  return parts(*this) == parts(other);
}

bool Source::operator==(const Source& other) const {
  const auto parts = [](const Source& s) {
    return std::tie(s.path, s.alias, s.hint, s.index_path, s.index_alias, s.subquery, s.arrays);
  };
  return parts(*this) == parts(other);
}

bool JoinClause::operator==(const JoinClause& other) const {
  const auto parts = [](const JoinClause& j) {
    return std::tie(j.left, j.source, j.arrays, j.columns, j.sides, j.predicate);
  };
  return parts(*this) == parts(other);
}

bool SelectQuery::operator==(const SelectQuery& other) const {
  const auto parts = [](const SelectQuery& q) {
    return std::tie(q.projections, q.from, q.joins, q.where, q.group_by, q.having, q.totals,
                    q.order_by, q.offset, q.limit);
  };
  return parts(*this) == parts(other);
}

}  // namespace moraine::query
