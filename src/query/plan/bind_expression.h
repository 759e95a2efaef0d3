// ExpressionBinder: nodes of a syntax tree to typed expressions. Internal to bind.h; tests with
// lists of values (IN, BETWEEN, ...) are in bind_lists.cpp, values of type any in bind_any.cpp.
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
  // Of a value of type any: one value for all that are equal, and bytes in their order.
  Result<Expression> canonical(const Node& node, Expression expression);
  Result<Expression> ordered(const Node& node, Expression expression);

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
  Result<Expression> cast_call(const Node& node);

  // Values of type any (bind_any.cpp).
  Result<Expression> internal_call(const Node& node, Function function, ValueType type,
                                   std::vector<Expression> operands);
  // Makes values comparable with each other: unify(), or bytes in the order of any.
  Result<void> unify_compared(const Node& node, std::span<Expression* const> expressions,
                              bool listed = false);
  Result<Expression> member(const Node& node);
  Result<Expression> member_of(const Node& node, Expression base, std::string_view name);
  Result<Expression> element(const Node& node);
  Result<Expression> list_item(const Node& node, Expression base, Expression index,
                               const table::LogicalType& item);
  Result<Expression> item_call(const Node& node, Function function, Expression base, Expression key,
                               const table::LogicalType& item);
  Result<void> check_any_call(const Node& node, Expression& call) const;
  Result<void> adapt_any_arguments(const Node& node, AggregateCall& call);

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
