// ExpressionBinder: nodes of a syntax tree to typed expressions. Internal to bind.h; tests with
// lists of values (IN, BETWEEN, ...) are in bind_lists.cpp.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "query/plan/scope.h"

namespace moraine::query {

class ExpressionBinder {
 public:
  // `grouped`: keys and aggregates of scope.group are visible, columns are not. New aggregates are
  // added to it.
  ExpressionBinder(Binding& binding, Scope& scope, bool grouped)
      : binding_(binding), scope_(scope), grouped_(grouped) {}

  Result<Expression> bind(const Node& node);
  // The same; its own alias means a column where it stands in the node: `a + 1 as a`.
  Result<Expression> bind_aliased(const Node& node);
  // The parts of a tuple, or one expression.
  Result<std::vector<Expression>> bind_tuple(const Node& node);
  // Of WHERE, HAVING and the like.
  Result<Expression> bind_predicate(const Node& node, std::string_view clause);

 private:
  Result<Expression> bind_visible(const Node& node);
  Result<Expression> bind_new(const Node& node);
  bool hides_aggregate(const Node& alias, const Node& reference) const;
  Result<Expression> finish(const Node& node, Expression expression);
  Result<Expression> reference(const Node& node);
  Result<Expression> call(const Node& node);
  Result<Expression> aggregate(const Node& node, const AggregateInfo& info);
  std::uint8_t precision_of(const AggregateInfo& info) const;
  Result<Expression> unary(const Node& node);
  Result<Expression> binary(const Node& node);
  Result<Expression> comparison(const Node& node);
  Result<Expression> logic(const Node& node, ExpressionKind kind);
  Result<Expression> null_test(const Node& node);
  Result<Expression> cast(const Node& node);
  Result<Expression> case_of(const Node& node);

  Result<Expression> in(const Node& node);
  Result<Expression> between(const Node& node);
  Result<Expression> like_test(const Node& node);
  Result<Expression> transform(const Node& node);
  // Of an argument list or IN: the operands from `first` on, or the items of a placeholder.
  Result<std::vector<Node>> items(const Node& node, std::size_t first);
  Result<void> unify_items(const Node& node, std::vector<Expression>& subject,
                           std::vector<std::vector<Expression>>& items);
  Result<void> check_constant(const Node& node, const Expression& item) const;

  Result<Node> placeholder_node(const Node& node) const;
  Result<Expression> negated(const Node& node, Expression expression);
  Expression new_expression(ExpressionKind kind, ValueType type) const;
  std::unexpected<Error> at(const Node& node, Error error) const {
    return binding_.refuse(node, error.context, error.code);
  }

  Binding& binding_;
  Scope& scope_;
  const bool grouped_;
  bool in_aggregate_ = false;
  std::size_t depth_ = 0;
  std::set<std::string, std::less<>> expanding_;  // Aliases that contain the node.
};

}  // namespace moraine::query
