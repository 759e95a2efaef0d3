// The clauses of a query.

#include <fmt/format.h>

#include <algorithm>

#include "query/syntax/parser.h"

namespace moraine::query {
namespace {

std::uint16_t depth_of(const std::vector<Node>& nodes) {
  std::uint16_t depth = 0;
  for (const Node& node : nodes) depth = std::max(depth, node.depth);
  return depth;
}
std::uint16_t depth_of(const std::optional<Node>& node) {
  return node ? node->depth : std::uint16_t{0};
}
std::uint16_t depth_of(const std::vector<SelectQuery>& subquery) {
  return subquery.empty() ? std::uint16_t{0} : subquery[0].depth;
}
std::uint16_t depth_of(const Source& source) {
  return std::max(depth_of(source.subquery), depth_of(source.arrays));
}
std::uint16_t depth_of(const JoinClause& join) {
  return std::max({depth_of(join.source), depth_of(join.arrays), depth_of(join.columns),
                   depth_of(join.sides), depth_of(join.predicate)});
}

std::uint16_t depth_of(const SelectQuery& query) {
  std::uint16_t depth =
      std::max({depth_of(query.projections), depth_of(query.from), depth_of(query.where),
                depth_of(query.group_by), depth_of(query.having)});
  for (const JoinClause& join : query.joins) depth = std::max(depth, depth_of(join));
  for (const OrderItem& item : query.order_by) depth = std::max(depth, item.node.depth);
  return static_cast<std::uint16_t>(depth + 1);
}

}  // namespace

Result<void> Parser::start() {
  if (text_.size() > kQueryBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a query of {} bytes is longer than {}", text_.size(), kQueryBytesMax));
  }
  if (options_.syntax_version < kSyntaxVersionMin || options_.syntax_version > kSyntaxVersionMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("syntax_version {} is not one of {} to {}", options_.syntax_version,
                            kSyntaxVersionMin, kSyntaxVersionMax));
  }
  return advance();
}

Result<void> Parser::advance() {
  TRY(token_, lexer_.next());
  return {};
}

std::unexpected<Error> Parser::refuse(std::string_view what) const {
  return source_error(text_, token_.at, what);
}

std::unexpected<Error> Parser::unexpected_token(std::string_view wanted) const {
  std::string found = "end of text";
  if (token_.kind != TokenKind::kEnd) {
    constexpr std::size_t kShownBytes = 40;
    const std::size_t size = std::min(token_.end - token_.at, kShownBytes);
    found = quote(text_.substr(token_.at, size));
  }
  return refuse(fmt::format("unexpected {}, expected {}", found, wanted));
}

Result<bool> Parser::skip(Keyword keyword) {
  if (!token_.is(keyword)) return false;
  TRY_VOID(advance());
  return true;
}

Result<bool> Parser::skip(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  TRY_VOID(advance());
  return true;
}

Result<void> Parser::expect(std::string_view symbol) {
  if (!token_.is(symbol)) return unexpected_token(quote(symbol));
  return advance();
}

Result<void> Parser::expect(Keyword keyword, std::string_view name) {
  if (!token_.is(keyword)) return unexpected_token(name);
  return advance();
}

Result<std::string> Parser::take_name(std::string_view what) {
  if (token_.kind != TokenKind::kName) return unexpected_token(what);
  std::string name = std::move(token_.text);
  TRY_VOID(advance());
  return name;
}

Result<void> Parser::enter() {
  if (++depth_ > kQueryDepthMax) return refuse("the query is nested too deeply");
  return {};
}

Result<SelectQuery> Parser::whole_query() {
  TRY_VOID(start());
  TRY(SelectQuery result, query());
  if (token_.kind != TokenKind::kEnd) return unexpected_token("a clause of the query or its end");
  return result;
}

Result<SelectQuery> Parser::query() {
  TRY_VOID(enter());
  auto result = query_clauses();
  leave();
  if (!result) return result;
  result->depth = depth_of(*result);
  if (result->depth > kQueryDepthMax) {
    return source_error(text_, result->at, "the query is nested too deeply");
  }
  return result;
}

Result<SelectQuery> Parser::query_clauses() {
  SelectQuery query;
  query.at = here();
  TRY_VOID(skip(Keyword::kSelect));
  TRY(const bool star, skip("*"));
  if (!star) {
    bool more = true;
    while (more) {
      TRY(Node projection, item());
      query.projections.push_back(std::move(projection));
      TRY(more, skip(","));
    }
  }
  TRY_VOID(expect(Keyword::kFrom, "FROM"));
  TRY(query.from, source(/*may_have_index=*/true));
  while (token_.is(Keyword::kLeft) || token_.is(Keyword::kJoin) || token_.is(Keyword::kArrayJoin)) {
    TRY(JoinClause clause, join());
    query.joins.push_back(std::move(clause));
  }
  TRY(const bool where, skip(Keyword::kWhere));
  if (where) {
    TRY(query.where, expression());
  }
  TRY_VOID(groups(query));
  TRY_VOID(page(query));
  return query;
}

Result<void> Parser::groups(SelectQuery& query) {
  TRY(const bool grouped, skip(Keyword::kGroupBy));
  if (!grouped) {
    if (token_.is(Keyword::kHaving)) return refuse("HAVING used without GROUP BY");
    return {};
  }
  bool more = true;
  while (more) {
    TRY(Node key, item());
    query.group_by.push_back(std::move(key));
    TRY(more, skip(","));
  }
  TRY(const bool totals_first, skip(Keyword::kWithTotals));
  if (totals_first) query.totals = Totals::kBeforeHaving;
  TRY(const bool having, skip(Keyword::kHaving));
  if (!having) return {};
  TRY(query.having, expression());
  if (totals_first) return {};
  TRY(const bool totals_last, skip(Keyword::kWithTotals));
  if (totals_last) query.totals = Totals::kAfterHaving;
  return {};
}

Result<void> Parser::page(SelectQuery& query) {
  TRY(bool more, skip(Keyword::kOrderBy));
  while (more) {
    OrderItem item;
    TRY(item.node, expression());
    TRY(item.descending, skip(Keyword::kDesc));
    if (!item.descending) {
      TRY_VOID(skip(Keyword::kAsc));
    }
    query.order_by.push_back(std::move(item));
    TRY(more, skip(","));
  }
  TRY(const bool offset, skip(Keyword::kOffset));
  if (offset) {
    TRY(query.offset, count("OFFSET"));
  }
  TRY(const bool limit, skip(Keyword::kLimit));
  if (limit) {
    TRY(query.limit, count("LIMIT"));
  }
  if (token_.is(Keyword::kOffset)) return refuse("OFFSET stands before LIMIT");
  return {};
}

Result<std::uint64_t> Parser::count(std::string_view clause) {
  if (token_.kind != TokenKind::kInteger && token_.kind != TokenKind::kUnsigned) {
    return unexpected_token("an integer");
  }
  constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 63) - 3;
  if (token_.word > kCountMax) return refuse(fmt::format("Maximum {} exceeded", clause));
  const std::uint64_t word = token_.word;
  TRY_VOID(advance());
  return word;
}

Result<std::string> Parser::optional_alias() {
  TRY(const bool as, skip(Keyword::kAs));
  if (!as && token_.kind != TokenKind::kName) return std::string();
  return take_name("an alias");
}

Result<Source> Parser::source(bool may_have_index) {
  if (token_.is("(")) return nested_source();
  Source source;
  source.at = here();
  TRY(source.path, take_name("a table"));
  TRY(source.alias, optional_alias());
  TRY(const bool hint, skip(Keyword::kWithHint));
  if (hint) {
    if (token_.kind != TokenKind::kString) return unexpected_token("a hint in quotes");
    source.hint = std::move(token_.text);
    TRY_VOID(advance());
    if (source.hint.empty()) return refuse("the hint is empty");
  }
  if (!may_have_index) return source;
  TRY(const bool index, skip(Keyword::kWithIndex));
  if (index) {
    TRY(source.index_path, take_name("an index table"));
    TRY(source.index_alias, optional_alias());
  }
  return source;
}

Result<Source> Parser::nested_source() {
  Source source;
  source.at = here();
  TRY_VOID(advance());
  if (token_.is(Keyword::kSelect)) {
    TRY(SelectQuery inner, query());
    source.subquery.push_back(std::move(inner));
  } else {
    TRY(source.arrays, arrays());
  }
  TRY_VOID(expect(")"));
  TRY(source.alias, optional_alias());
  return source;
}

Result<std::vector<Node>> Parser::arrays() {
  std::vector<Node> arrays;
  bool more = true;
  while (more) {
    TRY(Node array, item());
    if (array.alias.empty()) return unexpected_token("AS and a name for the array's elements");
    arrays.push_back(std::move(array));
    TRY(more, skip(","));
  }
  return arrays;
}

Result<JoinClause> Parser::join() {
  JoinClause clause;
  clause.at = here();
  TRY(clause.left, skip(Keyword::kLeft));
  TRY(const bool array, skip(Keyword::kArrayJoin));
  if (array) {
    TRY(clause.arrays, arrays());
  } else {
    TRY_VOID(expect(Keyword::kJoin, "JOIN"));
    TRY(clause.source, source(/*may_have_index=*/false));
    TRY_VOID(join_condition(clause));
  }
  TRY(const bool predicate, skip(Keyword::kAnd));
  if (predicate) {
    TRY(clause.predicate, expression());
  }
  return clause;
}

Result<void> Parser::join_condition(JoinClause& clause) {
  TRY(const bool same_names, skip(Keyword::kUsing));
  if (same_names) {
    bool more = true;
    while (more) {
      Node column = make_node(NodeKind::kReference, here());
      TRY(column.text, take_name("a column"));
      TRY(column, checked(std::move(column)));
      clause.columns.push_back(std::move(column));
      TRY(more, skip(","));
    }
    return {};
  }
  TRY_VOID(expect(Keyword::kOn, "USING or ON"));
  TRY(Node left, binary(kBitOrLevel));
  TRY_VOID(expect("="));
  TRY(Node right, binary(kBitOrLevel));
  clause.sides.push_back(std::move(left));
  clause.sides.push_back(std::move(right));
  return {};
}

Result<SelectQuery> parse_query(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).whole_query();
}

}  // namespace moraine::query
