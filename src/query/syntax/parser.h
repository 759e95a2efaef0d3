// Parser: recursive descent with one token of lookahead. Internal to parse.h; the clauses are in
// parse_query.cpp, expressions in parse_expression.cpp.
#pragma once

#include <span>
#include <string_view>

#include "query/syntax/lexer.h"
#include "query/syntax/parse.h"
#include "query/syntax/source_error.h"

namespace moraine::query {

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : text_(text), options_(options), lexer_(text, options.syntax_version) {}

  Result<SelectQuery> whole_query();
  Result<Node> whole_expression();

 private:
  // Operators of two operands by how tightly they bind, loosest first.
  enum Level : std::uint8_t {
    kEqualityLevel,
    kRelationLevel,
    kBitOrLevel,
    kBitXorLevel,
    kBitAndLevel,
    kShiftLevel,
    kSumLevel,
    kProductLevel,
    kUnaryLevel,
  };

  Result<void> start();
  Result<void> advance();
  std::unexpected<Error> refuse(std::string_view what) const;
  std::unexpected<Error> unexpected_token(std::string_view wanted) const;
  Result<bool> skip(Keyword keyword);
  Result<bool> skip(std::string_view symbol);
  Result<void> expect(std::string_view symbol);
  Result<void> expect(Keyword keyword, std::string_view name);
  Result<std::string> take_name(std::string_view what);

  // Counts the node and checks its depth.
  Result<Node> checked(Node node);
  Result<void> enter();
  void leave() { --depth_; }

  // Clauses.
  Result<SelectQuery> query();
  Result<SelectQuery> query_clauses();
  Result<void> groups(SelectQuery& query);
  Result<void> page(SelectQuery& query);
  Result<Source> source(bool may_have_index);
  Result<Source> nested_source();
  Result<std::string> optional_alias();
  Result<JoinClause> join();
  Result<void> join_condition(JoinClause& clause);
  Result<std::vector<Node>> arrays();
  Result<std::uint64_t> count(std::string_view clause);

  // Expressions. The forms with `left` go on after an operand that was read already.
  Result<Node> item();
  Result<void> alias(Node& node);
  Result<std::vector<Node>> items(std::string_view closing);
  Result<Node> expression();
  Result<Node> expression(Node left);
  Result<Node> conjunction();
  Result<Node> conjunction(Node left);
  Result<Node> negation();
  Result<Node> null_test(Node left);
  Result<Node> binary(Level level);
  Result<Node> binary(Level level, Node left);
  Result<Node> test(Node left);
  Result<Node> test_operands(Node left);
  Result<Node> in_test(Node left, bool negated);
  Result<Node> between_test(Node left, bool negated);
  Result<Node> between_list(Node node);
  Result<Node> like_test(Node left, bool negated, Operator op);
  Result<Node> unary();
  Result<Node> unary_operand();
  Result<Node> postfix(Node left);
  Result<Node> atom();
  Result<Node> name_atom();
  Result<Node> keyword_atom();
  Result<Node> parenthesised(std::uint32_t at, std::optional<Node> first);
  Result<Node> placeholder();
  Result<Node> transform();
  Result<Node> case_of();
  Result<Node> cast();

  std::uint32_t here() const { return static_cast<std::uint32_t>(token_.at); }

  const std::string_view text_;
  const ParseOptions options_;
  Lexer lexer_;
  Token token_;
  std::size_t depth_ = 0;  // Of the descent.
  std::size_t nodes_ = 0;
};

}  // namespace moraine::query
