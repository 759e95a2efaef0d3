// Expressions.

#include <algorithm>
#include <optional>

#include "query/syntax/parser.h"

namespace moraine::query {
namespace {

struct BinaryOperator {
  std::string_view symbol;
  Operator op;
  std::uint8_t level;  // Parser::Level
};

constexpr std::uint64_t kLeastInt64 = std::uint64_t{1} << 63;

}  // namespace

Result<Node> Parser::whole_expression() {
  TRY_VOID(start());
  TRY(Node result, expression());
  if (token_.kind != TokenKind::kEnd) return unexpected_token("an operator or the end");
  return result;
}

Result<Node> Parser::checked(Node node) {
  if (++nodes_ > kQueryNodesMax) return refuse("the query has too many parts");
  std::size_t depth = node.subquery.empty() ? 0 : node.subquery[0].depth;
  for (const Node& operand : node.operands) {
    depth = std::max<std::size_t>(depth, operand.depth);
  }
  if (++depth > kQueryDepthMax) {
    return source_error(text_, node.at, "the expression is nested too deeply");
  }
  node.depth = static_cast<std::uint16_t>(depth);
  return node;
}

Result<void> Parser::alias(Node& node) {
  TRY(const bool as, skip(Keyword::kAs));
  if (!as) return {};
  if (!node.alias.empty()) return refuse("the expression has an alias already");
  TRY(node.alias, take_name("an alias"));
  return {};
}

Result<Node> Parser::item() {
  TRY(Node node, expression());
  TRY_VOID(alias(node));
  return node;
}

// The opening parenthesis was read; the closing one is read here.
Result<std::vector<Node>> Parser::items(std::string_view closing) {
  std::vector<Node> list;
  TRY(bool done, skip(closing));
  while (!done) {
    TRY(Node node, item());
    list.push_back(std::move(node));
    TRY(const bool more, skip(","));
    if (more) continue;
    TRY_VOID(expect(closing));
    done = true;
  }
  return list;
}

Result<Node> Parser::expression() {
  TRY(Node left, conjunction());
  return expression(std::move(left));
}

Result<Node> Parser::expression(Node left) {
  if (!token_.is(Keyword::kOr)) return left;
  Node node = make_node(NodeKind::kOr, left.at);
  node.operands.push_back(std::move(left));
  TRY(bool more, skip(Keyword::kOr));
  while (more) {
    TRY(Node right, conjunction());
    node.operands.push_back(std::move(right));
    TRY(more, skip(Keyword::kOr));
  }
  return checked(std::move(node));
}

Result<Node> Parser::conjunction() {
  TRY(Node left, negation());
  return conjunction(std::move(left));
}

Result<Node> Parser::conjunction(Node left) {
  if (!token_.is(Keyword::kAnd)) return left;
  Node node = make_node(NodeKind::kAnd, left.at);
  node.operands.push_back(std::move(left));
  TRY(bool more, skip(Keyword::kAnd));
  while (more) {
    TRY(Node right, negation());
    node.operands.push_back(std::move(right));
    TRY(more, skip(Keyword::kAnd));
  }
  return checked(std::move(node));
}

Result<Node> Parser::negation() {
  const std::uint32_t at = here();
  TRY(const bool negated, skip(Keyword::kNot));
  TRY(Node operand, binary(kEqualityLevel));
  TRY(operand, null_test(std::move(operand)));
  if (!negated) return operand;
  Node node = make_node(NodeKind::kNot, at);
  node.operands.push_back(std::move(operand));
  return checked(std::move(node));
}

Result<Node> Parser::null_test(Node left) {
  TRY(const bool is, skip(Keyword::kIs));
  if (!is) return left;
  Node node = make_node(NodeKind::kIsNull, left.at);
  TRY(node.negated, skip(Keyword::kNot));
  TRY_VOID(expect(Keyword::kNull, "NULL"));
  node.operands.push_back(std::move(left));
  return checked(std::move(node));
}

Result<Node> Parser::binary(Level level) {
  TRY(Node left, unary());
  return binary(level, std::move(left));
}

Result<Node> Parser::binary(Level level, Node left) {
  static constexpr BinaryOperator kOperators[] = {
      {"=", Operator::kEqual, kEqualityLevel},
      {"!=", Operator::kNotEqual, kEqualityLevel},
      {"<>", Operator::kNotEqual, kEqualityLevel},
      {"<", Operator::kLess, kRelationLevel},
      {"<=", Operator::kLessOrEqual, kRelationLevel},
      {">", Operator::kGreater, kRelationLevel},
      {">=", Operator::kGreaterOrEqual, kRelationLevel},
      {"|", Operator::kBitOr, kBitOrLevel},
      {"^", Operator::kBitXor, kBitXorLevel},
      {"&", Operator::kBitAnd, kBitAndLevel},
      {"<<", Operator::kShiftLeft, kShiftLevel},
      {">>", Operator::kShiftRight, kShiftLevel},
      {"+", Operator::kPlus, kSumLevel},
      {"-", Operator::kMinus, kSumLevel},
      {"||", Operator::kConcat, kSumLevel},
      {"*", Operator::kMultiply, kProductLevel},
      {"/", Operator::kDivide, kProductLevel},
      {"%", Operator::kModulo, kProductLevel},
  };
  std::uint8_t loosest = kUnaryLevel;  // Of the operators of `left`.
  for (;;) {
    const bool tests = token_.is(Keyword::kNot) || token_.is(Keyword::kIn) ||
                       token_.is(Keyword::kBetween) || token_.is(Keyword::kLike) ||
                       token_.is(Keyword::kIlike) || token_.is(Keyword::kRlike) ||
                       token_.is(Keyword::kRegexp);
    if (tests && level <= kRelationLevel) {
      if (loosest < kSumLevel) return refuse("the operand before this test needs parentheses");
      TRY(left, test(std::move(left)));
      loosest = kRelationLevel;
      continue;
    }
    const BinaryOperator* found = nullptr;
    for (const BinaryOperator& candidate : kOperators) {
      if (token_.is(candidate.symbol)) found = &candidate;
    }
    if (found == nullptr || found->level < level) return left;
    TRY_VOID(advance());
    TRY(Node right, binary(static_cast<Level>(found->level + 1)));
    Node node = make_node(NodeKind::kBinary, left.at);
    node.op = found->op;
    node.operands.push_back(std::move(left));
    node.operands.push_back(std::move(right));
    TRY(left, checked(std::move(node)));
    loosest = std::min(loosest, found->level);
  }
}

Result<Node> Parser::test(Node left) {
  // A list of BETWEEN begins with an operand that is not read by unary().
  TRY_VOID(enter());
  auto result = test_operands(std::move(left));
  leave();
  return result;
}

Result<Node> Parser::test_operands(Node left) {
  TRY(const bool negated, skip(Keyword::kNot));
  const Keyword keyword = token_.keyword;
  switch (token_.kind == TokenKind::kKeyword ? keyword : Keyword::kNone) {
    case Keyword::kIn: return in_test(std::move(left), negated);
    case Keyword::kBetween: return between_test(std::move(left), negated);
    case Keyword::kLike: return like_test(std::move(left), negated, Operator::kLike);
    case Keyword::kIlike: return like_test(std::move(left), negated, Operator::kIlike);
    case Keyword::kRlike:
    case Keyword::kRegexp: return like_test(std::move(left), negated, Operator::kRegexp);
    default: return unexpected_token("IN, BETWEEN or LIKE");
  }
}

Result<Node> Parser::in_test(Node left, bool negated) {
  Node node = make_node(NodeKind::kIn, left.at);
  node.negated = negated;
  TRY_VOID(advance());
  node.operands.push_back(std::move(left));
  if (token_.is("{")) {
    TRY(Node list, placeholder());
    node.operands.push_back(std::move(list));
    return checked(std::move(node));
  }
  node.is_list = true;
  TRY_VOID(expect("("));
  TRY(std::vector<Node> list, items(")"));
  std::ranges::move(list, std::back_inserter(node.operands));
  return checked(std::move(node));
}

Result<Node> Parser::between_test(Node left, bool negated) {
  Node node = make_node(NodeKind::kBetween, left.at);
  node.negated = negated;
  TRY_VOID(advance());
  node.operands.push_back(std::move(left));
  const std::uint32_t at = here();
  TRY(const bool parenthesis, skip("("));
  Node low;
  if (!parenthesis) {
    TRY(low, binary(kSumLevel));
  } else {
    // A list of pairs, or a lower bound in parentheses: AND after its first operand decides.
    std::optional<Node> first;
    if (!token_.is(Keyword::kNot) && !token_.is(Keyword::kSelect)) {
      TRY(first, binary(kSumLevel));
      if (token_.is(Keyword::kAnd)) {
        node.operands.push_back(std::move(*first));
        return between_list(std::move(node));
      }
    }
    TRY(low, parenthesised(at, std::move(first)));
    TRY(low, postfix(std::move(low)));
    TRY(low, binary(kSumLevel, std::move(low)));
  }
  TRY_VOID(expect(Keyword::kAnd, "AND"));
  TRY(Node high, binary(kSumLevel));
  node.operands.push_back(std::move(low));
  node.operands.push_back(std::move(high));
  return checked(std::move(node));
}

// The first lower bound was read.
Result<Node> Parser::between_list(Node node) {
  node.is_list = true;
  for (;;) {
    TRY_VOID(expect(Keyword::kAnd, "AND"));
    TRY(Node high, binary(kSumLevel));
    node.operands.push_back(std::move(high));
    TRY(const bool more, skip(","));
    if (!more) break;
    TRY(Node low, binary(kSumLevel));
    node.operands.push_back(std::move(low));
  }
  TRY_VOID(expect(")"));
  return checked(std::move(node));
}

Result<Node> Parser::like_test(Node left, bool negated, Operator op) {
  Node node = make_node(NodeKind::kLike, left.at);
  node.negated = negated;
  node.op = op;
  TRY_VOID(advance());
  node.operands.push_back(std::move(left));
  TRY(Node pattern, binary(kSumLevel));
  node.operands.push_back(std::move(pattern));
  if (token_.is(Keyword::kEscape) && op == Operator::kRegexp) {
    return refuse("a regular expression has no ESCAPE");
  }
  TRY(const bool escape, skip(Keyword::kEscape));
  if (escape) {
    TRY(Node character, binary(kSumLevel));
    node.operands.push_back(std::move(character));
  }
  return checked(std::move(node));
}

Result<Node> Parser::unary() {
  TRY_VOID(enter());
  auto result = unary_operand();
  leave();
  return result;
}

Result<Node> Parser::unary_operand() {
  const std::uint32_t at = here();
  Operator op = Operator::kNone;
  if (token_.is("-")) op = Operator::kMinus;
  if (token_.is("+")) op = Operator::kPlus;
  if (token_.is("~")) op = Operator::kBitNot;
  if (op == Operator::kNone) {
    TRY(Node operand, atom());
    return postfix(std::move(operand));
  }
  TRY_VOID(advance());
  if (op == Operator::kMinus && token_.kind == TokenKind::kInteger && token_.word == kLeastInt64) {
    Node least = make_node(NodeKind::kInt64, at);
    least.word = kLeastInt64;
    TRY_VOID(advance());
    return checked(std::move(least));
  }
  TRY(Node operand, unary());
  Node node = make_node(NodeKind::kUnary, at);
  node.op = op;
  node.operands.push_back(std::move(operand));
  return checked(std::move(node));
}

Result<Node> Parser::postfix(Node left) {
  if (options_.syntax_version == kSyntaxVersionMin) return left;
  while (token_.is(".") || token_.is("[")) {
    const bool member = token_.is(".");
    TRY_VOID(advance());
    Node node = make_node(member ? NodeKind::kMember : NodeKind::kElement, left.at);
    node.operands.push_back(std::move(left));
    if (member) {
      if (token_.kind != TokenKind::kName && token_.kind != TokenKind::kInteger) {
        return unexpected_token("a member's name or number");
      }
      node.text =
          token_.kind == TokenKind::kName ? std::move(token_.text) : std::to_string(token_.word);
      TRY_VOID(advance());
    } else {
      TRY(Node index, expression());
      node.operands.push_back(std::move(index));
      TRY_VOID(expect("]"));
    }
    TRY(left, checked(std::move(node)));
  }
  return left;
}

Result<Node> Parser::atom() {
  Node node = make_node(NodeKind::kNull, here());
  node.word = token_.word;
  switch (token_.kind) {
    case TokenKind::kInteger:
      if (token_.word >= kLeastInt64) return refuse("an integer is out of range");
      node.kind = NodeKind::kInt64;
      break;
    case TokenKind::kUnsigned: node.kind = NodeKind::kUint64; break;
    case TokenKind::kDouble:
      node.kind = NodeKind::kDouble;
      node.word = __builtin_bit_cast(std::uint64_t, token_.number);
      break;
    case TokenKind::kString:
      node.kind = NodeKind::kString;
      node.text = std::move(token_.text);
      break;
    case TokenKind::kName: return name_atom();
    case TokenKind::kKeyword: return keyword_atom();
    case TokenKind::kSymbol:
      if (token_.is("{")) return placeholder();
      if (token_.is("(")) {
        TRY_VOID(advance());
        return parenthesised(node.at, std::nullopt);
      }
      if (!token_.is("#")) return unexpected_token("an expression");
      node.word = 0;
      break;
    case TokenKind::kEnd: return unexpected_token("an expression");
  }
  TRY_VOID(advance());
  return checked(std::move(node));
}

Result<Node> Parser::name_atom() {
  Node node = make_node(NodeKind::kReference, here());
  TRY(node.text, take_name("a name"));
  TRY(const bool call, skip("("));
  if (call) {
    node.kind = NodeKind::kCall;
    TRY(node.operands, items(")"));
    return checked(std::move(node));
  }
  TRY(const bool dot, skip("."));
  if (dot && token_.kind == TokenKind::kInteger) {  // An item of a tuple: postfix() has the rest.
    if (options_.syntax_version == kSyntaxVersionMin) return unexpected_token("a column");
    TRY(node, checked(std::move(node)));
    Node member = make_node(NodeKind::kMember, node.at);
    member.text = std::to_string(token_.word);
    member.operands.push_back(std::move(node));
    TRY_VOID(advance());
    return checked(std::move(member));
  }
  if (dot) {
    node.table = std::move(node.text);
    TRY(node.text, take_name("a column"));
  }
  return checked(std::move(node));
}

Result<Node> Parser::keyword_atom() {
  Node node = make_node(NodeKind::kNull, here());
  switch (token_.keyword) {
    case Keyword::kNull: break;
    case Keyword::kTrue:
    case Keyword::kFalse:
      node.kind = NodeKind::kBoolean;
      node.word = token_.keyword == Keyword::kTrue ? 1 : 0;
      break;
    case Keyword::kInf:
      node.kind = NodeKind::kDouble;
      node.word = __builtin_bit_cast(std::uint64_t, __builtin_inf());
      break;
    case Keyword::kTransform: return transform();
    case Keyword::kCase: return case_of();
    case Keyword::kCast: return cast();
    default: return unexpected_token("an expression");
  }
  TRY_VOID(advance());
  return checked(std::move(node));
}

// After the opening parenthesis. `first`: the beginning of the first item was read.
Result<Node> Parser::parenthesised(std::uint32_t at, std::optional<Node> first) {
  if (!first && token_.is(Keyword::kSelect)) {
    Node node = make_node(NodeKind::kSubquery, at);
    TRY(SelectQuery inner, query());
    node.subquery.push_back(std::move(inner));
    TRY_VOID(expect(")"));
    return checked(std::move(node));
  }
  Node node;
  if (first) {
    TRY(node, binary(kEqualityLevel, std::move(*first)));
    TRY(node, null_test(std::move(node)));
    TRY(node, conjunction(std::move(node)));
    TRY(node, expression(std::move(node)));
    TRY_VOID(alias(node));
  } else {
    TRY(node, item());
  }
  TRY(const bool tuple, skip(","));
  if (!tuple) {
    TRY_VOID(expect(")"));
    return node;
  }
  Node list = make_node(NodeKind::kTuple, at);
  list.operands.push_back(std::move(node));
  TRY(std::vector<Node> rest, items(")"));
  if (rest.empty()) return refuse("a comma is not followed by an expression");
  std::ranges::move(rest, std::back_inserter(list.operands));
  return checked(std::move(list));
}

Result<Node> Parser::placeholder() {
  Node node = make_node(NodeKind::kPlaceholder, here());
  TRY_VOID(advance());
  TRY(node.text, take_name("the name of a placeholder"));
  TRY_VOID(expect("}"));
  return checked(std::move(node));
}

Result<Node> Parser::transform() {
  Node node = make_node(NodeKind::kTransform, here());
  TRY_VOID(advance());
  TRY_VOID(expect("("));
  TRY(Node subject, item());
  node.operands.push_back(std::move(subject));
  for (int list = 0; list < 2; ++list) {
    TRY_VOID(expect(","));
    Node values = make_node(NodeKind::kTuple, here());
    if (token_.is("{")) {
      TRY(values, placeholder());
    } else {
      TRY_VOID(expect("("));
      TRY(values.operands, items(")"));
      TRY(values, checked(std::move(values)));
    }
    node.operands.push_back(std::move(values));
  }
  TRY(const bool has_default, skip(","));
  if (has_default) {
    TRY(Node value, item());
    node.operands.push_back(std::move(value));
  }
  TRY_VOID(expect(")"));
  return checked(std::move(node));
}

Result<Node> Parser::case_of() {
  Node node = make_node(NodeKind::kCase, here());
  TRY_VOID(advance());
  node.has_subject = !token_.is(Keyword::kWhen);
  if (node.has_subject) {
    TRY(Node subject, expression());
    node.operands.push_back(std::move(subject));
  }
  if (!token_.is(Keyword::kWhen)) return unexpected_token("WHEN");
  TRY(bool more, skip(Keyword::kWhen));
  while (more) {
    TRY(Node when, expression());
    TRY_VOID(expect(Keyword::kThen, "THEN"));
    TRY(Node then, expression());
    node.operands.push_back(std::move(when));
    node.operands.push_back(std::move(then));
    TRY(more, skip(Keyword::kWhen));
  }
  TRY(node.has_else, skip(Keyword::kElse));
  if (node.has_else) {
    TRY(Node otherwise, expression());
    node.operands.push_back(std::move(otherwise));
  }
  TRY_VOID(expect(Keyword::kEnd, "END"));
  return checked(std::move(node));
}

Result<Node> Parser::cast() {
  Node node = make_node(NodeKind::kCast, here());
  TRY_VOID(advance());
  TRY_VOID(expect("("));
  TRY(Node operand, expression());
  node.operands.push_back(std::move(operand));
  TRY_VOID(expect(Keyword::kAs, "AS"));
  TRY(node.text, take_name("a type"));
  TRY_VOID(expect(")"));
  return checked(std::move(node));
}

Result<Node> parse_expression(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).whole_expression();
}

}  // namespace moraine::query
