// Random syntax trees for tests: every kind of node that a text can have.
#pragma once

#include <array>
#include <bit>
#include <string>
#include <utility>

#include "io/random.h"
#include "query/syntax/tree.h"

namespace moraine::query {

class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed, int syntax_version = 1)
      : random_(seed), syntax_version_(syntax_version) {}

  SelectQuery query(int depth) {
    SelectQuery query;
    if (!random_.one_in(4)) query.projections = nodes(depth, 1, 3, true);
    query.from = source(depth);
    while (random_.one_in(3)) query.joins.push_back(join(depth));
    if (random_.one_in(2)) query.where = node(depth);
    if (random_.one_in(2)) groups(query, depth);
    while (random_.one_in(3)) query.order_by.push_back({node(depth), random_.one_in(2)});
    if (random_.one_in(3)) query.offset = random_.below(100);
    if (random_.one_in(2)) query.limit = random_.next() >> 2;
    return query;
  }

  Node node(int depth) {
    if (depth <= 0) return leaf();
    switch (random_.below(16)) {
      case 0: return nary(NodeKind::kTuple, depth);
      case 1: return nary(NodeKind::kAnd, depth);
      case 2: return nary(NodeKind::kOr, depth);
      case 3: return with(NodeKind::kNot, {node(depth - 1)});
      case 4: return negatable(with(NodeKind::kIsNull, {node(depth - 1)}));
      case 5:
      case 6: return binary(depth);
      case 7: return unary(depth);
      case 8: return in_test(depth);
      case 9: return between_test(depth);
      case 10: return like_test(depth);
      case 11: return call(depth);
      case 12: return transform(depth);
      case 13: return case_of(depth);
      case 14: return named(with(NodeKind::kCast, {node(depth - 1)}));
      default: return syntax_version_ == 1 ? leaf() : element(depth);
    }
  }

 private:
  std::string name() {
    static constexpr std::array<std::string_view, 10> kNames = {
        "a", "b_2", "group", "//tmp/t", "select", "x.y", "a[0]", "back`tick", "odd]", "\n\xff"};
    return std::string(kNames[random_.below(kNames.size())]);
  }
  static Node with(NodeKind kind, std::vector<Node> operands) {
    Node node;
    node.kind = kind;
    node.operands = std::move(operands);
    return node;
  }
  Node named(Node node) {
    node.text = name();
    return node;
  }
  Node negatable(Node node) {
    node.negated = random_.one_in(2);
    return node;
  }
  std::vector<Node> nodes(int depth, std::size_t least, std::size_t more, bool aliases) {
    std::vector<Node> list;
    const std::size_t count = least + random_.below(more + 1);
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(node(depth - 1));
      if (aliases && list.back().alias.empty() && random_.one_in(4)) list.back().alias = name();
    }
    return list;
  }
  Node nary(NodeKind kind, int depth) { return with(kind, nodes(depth, 2, 2, false)); }

  Node leaf() {
    Node node;
    switch (random_.below(9)) {
      case 0: break;
      case 1:
        node.kind = NodeKind::kInt64;
        node.word = random_.one_in(4) ? std::uint64_t{1} << 63 : random_.next() >> 1;
        break;
      case 2:
        node.kind = NodeKind::kUint64;
        node.word = random_.next();
        break;
      case 3:
        node.kind = NodeKind::kDouble;
        node.word = std::bit_cast<std::uint64_t>(
            random_.one_in(5) ? __builtin_inf() : static_cast<double>(random_.below(1000)) / 8);
        break;
      case 4:
        node.kind = NodeKind::kBoolean;
        node.word = random_.below(2);
        break;
      case 5:
        node.kind = NodeKind::kString;
        node.text = std::string(random_.below(4), static_cast<char>(random_.next()));
        break;
      case 6:
        node.kind = NodeKind::kPlaceholder;
        node.text = name();
        break;
      default:
        node.kind = NodeKind::kReference;
        node.text = name();
        if (random_.one_in(3)) node.table = name();
        break;
    }
    if (random_.one_in(10)) node.alias = name();
    return node;
  }

  Node binary(int depth) {
    Node result = with(NodeKind::kBinary, {node(depth - 1), node(depth - 1)});
    result.op = static_cast<Operator>(static_cast<int>(Operator::kMultiply) + random_.below(15));
    if (random_.one_in(5)) result.op = random_.one_in(2) ? Operator::kPlus : Operator::kMinus;
    return result;
  }
  Node unary(int depth) {
    Node result = with(NodeKind::kUnary, {node(depth - 1)});
    result.op = static_cast<Operator>(static_cast<int>(Operator::kPlus) + random_.below(3));
    return result;
  }
  Node in_test(int depth) {
    Node result = negatable(with(NodeKind::kIn, nodes(depth, 1, 4, false)));
    result.is_list = true;
    return result;
  }
  Node between_test(int depth) {
    Node result = negatable(with(NodeKind::kBetween, nodes(depth, 3, 0, false)));
    result.is_list = random_.one_in(2);
    while (result.is_list && random_.one_in(2)) {
      for (Node& bound : nodes(depth, 2, 0, false)) result.operands.push_back(std::move(bound));
    }
    return result;
  }
  Node like_test(int depth) {
    Node result = negatable(with(NodeKind::kLike, nodes(depth, 2, 0, false)));
    result.op = static_cast<Operator>(static_cast<int>(Operator::kLike) + random_.below(3));
    if (result.op != Operator::kRegexp && random_.one_in(2)) {
      result.operands.push_back(node(depth - 1));
    }
    return result;
  }
  Node call(int depth) { return named(with(NodeKind::kCall, nodes(depth, 0, 3, true))); }
  Node transform(int depth) {
    Node result = with(NodeKind::kTransform, {node(depth - 1)});
    for (int list = 0; list < 2; ++list) {
      result.operands.push_back(with(NodeKind::kTuple, nodes(depth, 0, 3, false)));
    }
    if (random_.one_in(2)) result.operands.push_back(node(depth - 1));
    return result;
  }
  Node case_of(int depth) {
    Node result = with(NodeKind::kCase, nodes(depth, 2, 0, false));
    result.has_subject = random_.one_in(2);
    if (result.has_subject) result.operands.push_back(node(depth - 1));
    result.has_else = random_.one_in(2);
    if (result.has_else) result.operands.push_back(node(depth - 1));
    return result;
  }
  Node element(int depth) {
    if (random_.one_in(2)) {
      return with(NodeKind::kElement, {node(depth - 1), node(depth - 1)});
    }
    Node result = with(NodeKind::kMember, {node(depth - 1)});
    result.text = random_.one_in(2) ? name() : std::to_string(random_.below(5));
    return result;
  }

  Source source(int depth) {
    Source source;
    if (depth > 0 && random_.one_in(4)) {
      source.subquery.push_back(query(depth - 1));
    } else {
      source.path = name();
      if (random_.one_in(5)) source.hint = "{a=1}";
    }
    if (random_.one_in(2)) source.alias = name();
    return source;
  }
  JoinClause join(int depth) {
    JoinClause clause;
    clause.left = random_.one_in(2);
    if (random_.one_in(3)) {
      clause.arrays = nodes(depth, 1, 2, false);
      for (Node& array : clause.arrays) array.alias = name();
    } else {
      clause.source = source(depth);
      if (random_.one_in(2)) {
        Node column;
        column.kind = NodeKind::kReference;
        column.text = name();
        clause.columns.push_back(column);
      } else {
        clause.sides = nodes(depth, 2, 0, false);
      }
    }
    if (random_.one_in(3)) clause.predicate = node(depth - 1);
    return clause;
  }
  void groups(SelectQuery& query, int depth) {
    query.group_by = nodes(depth, 1, 2, true);
    if (random_.one_in(2)) query.having = node(depth - 1);
    query.totals = static_cast<Totals>(random_.below(query.having ? 3 : 2));
  }

  SeededRandom random_;
  const int syntax_version_;
};

}  // namespace moraine::query
