// Compiles expressions: parses the text, and builds typed nodes as it goes.

#include <fmt/format.h>

#include <array>
#include <span>

#include "expression/builder.h"
#include "expression/expression.h"
#include "expression/lexer.h"

namespace moraine {
namespace {

using Op = ExpressionOp;
using Kind = ExpressionToken::Kind;
using Index = ExpressionBuilder::Index;

struct BinaryOperator {
  std::string_view symbol;
  Op op;
};
constexpr BinaryOperator kEquality[] = {
    {"=", Op::kEqual}, {"!=", Op::kNotEqual}, {"<>", Op::kNotEqual}};
constexpr BinaryOperator kRelation[] = {
    {"<", Op::kLess}, {"<=", Op::kLessOrEqual}, {">", Op::kGreater}, {">=", Op::kGreaterOrEqual}};
constexpr BinaryOperator kBitOrs[] = {{"|", Op::kBitOr}};
constexpr BinaryOperator kBitXors[] = {{"^", Op::kBitXor}};
constexpr BinaryOperator kBitAnds[] = {{"&", Op::kBitAnd}};
constexpr BinaryOperator kShifts[] = {{"<<", Op::kShiftLeft}, {">>", Op::kShiftRight}};
constexpr BinaryOperator kSums[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};
constexpr BinaryOperator kProducts[] = {
    {"*", Op::kMultiply}, {"/", Op::kDivide}, {"%", Op::kModulo}};
// Loosest first.
constexpr std::array<std::span<const BinaryOperator>, 8> kLevels = {
    kEquality, kRelation, kBitOrs, kBitXors, kBitAnds, kShifts, kSums, kProducts};

class Parser {
 public:
  Parser(std::string_view text, const TableSchema& schema) : lexer_(text), builder_(schema) {}

  Result<CompiledExpression> run() {
    TRY_VOID(advance());
    TRY(const Index root, disjunction());
    if (token_.kind != Kind::kEnd) return unexpected_token();
    return CompiledExpression(builder_.finish(root));
  }

 private:
  Result<void> advance() {
    TRY(token_, lexer_.next());
    return {};
  }
  std::unexpected<Error> unexpected_token() const {
    const bool end = token_.kind == Kind::kEnd;
    return fail(Errc::kInvalidArgument,
                fmt::format("unexpected {} at byte {}", end ? "end" : "\"" + token_.text + "\"",
                            token_.at));
  }
  Result<void> expect(std::string_view symbol) {
    if (!token_.is_symbol(symbol)) return unexpected_token();
    return advance();
  }

  Result<Index> disjunction() {
    TRY(Index left, conjunction());
    while (token_.is_keyword("or")) {
      TRY_VOID(advance());
      TRY(const Index right, conjunction());
      TRY(left, builder_.binary(Op::kOr, left, right));
    }
    return left;
  }
  Result<Index> conjunction() {
    TRY(Index left, negation());
    while (token_.is_keyword("and")) {
      TRY_VOID(advance());
      TRY(const Index right, negation());
      TRY(left, builder_.binary(Op::kAnd, left, right));
    }
    return left;
  }
  Result<Index> negation() {
    if (!token_.is_keyword("not")) return null_test();
    TRY_VOID(advance());
    TRY(const Index operand, null_test());
    return builder_.unary(Op::kNot, operand);
  }
  Result<Index> null_test() {
    TRY(Index operand, binary(0));
    if (!token_.is_keyword("is")) return operand;
    TRY_VOID(advance());
    const bool negated = token_.is_keyword("not");
    if (negated) {
      TRY_VOID(advance());
    }
    if (!token_.is_keyword("null")) return unexpected_token();
    TRY_VOID(advance());
    TRY(operand, builder_.call("is_null", {operand}));
    return negated ? builder_.unary(Op::kNot, operand) : operand;
  }

  Result<Index> binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    TRY(Index left, binary(level + 1));
    for (;;) {
      const BinaryOperator* found = nullptr;
      for (const BinaryOperator& candidate : kLevels[level]) {
        if (token_.is_symbol(candidate.symbol)) found = &candidate;
      }
      if (found == nullptr) return left;
      TRY_VOID(advance());
      TRY(const Index right, binary(level + 1));
      TRY(left, builder_.binary(found->op, left, right));
    }
  }

  Result<Index> unary() {
    if (++depth_ > kExpressionDepthMax) {
      return fail(Errc::kInvalidArgument, "expression is nested too deeply");
    }
    auto result = unary_operand();
    --depth_;
    return result;
  }
  Result<Index> unary_operand() {
    const bool minus = token_.is_symbol("-");
    if (!minus && !token_.is_symbol("~") && !token_.is_symbol("+")) return atom();
    const bool plus = token_.is_symbol("+");
    TRY_VOID(advance());
    TRY(const Index operand, unary());
    if (plus) return operand;
    return builder_.unary(minus ? Op::kNegate : Op::kBitNot, operand);
  }

  Result<Index> atom() {
    const ExpressionToken token = token_;
    TRY_VOID(advance());
    switch (token.kind) {
      case Kind::kInteger: return builder_.literal(static_cast<std::int64_t>(token.word));
      case Kind::kUnsigned: return builder_.literal(token.word);
      case Kind::kDouble: return builder_.literal(token.number);
      case Kind::kString: return builder_.text_literal(token.text);
      case Kind::kQuoted: return builder_.column(token.text);
      case Kind::kName: return name(token);
      case Kind::kEnd:
      case Kind::kSymbol: break;
    }
    if (token.is_symbol("#")) return builder_.literal(Value());
    if (!token.is_symbol("(")) {
      token_ = token;
      return unexpected_token();
    }
    TRY(const Index inner, disjunction());
    TRY_VOID(expect(")"));
    return inner;
  }

  Result<Index> name(const ExpressionToken& token) {
    if (token.is_keyword("true") || token.text == "%true") return builder_.literal(true);
    if (token.is_keyword("false") || token.text == "%false") return builder_.literal(false);
    if (token.is_keyword("null")) return builder_.literal(Value());
    for (const std::string_view keyword : {"and", "or", "not", "is"}) {
      if (!token.is_keyword(keyword)) continue;
      token_ = token;
      return unexpected_token();
    }
    if (!token_.is_symbol("(")) return builder_.column(token.text);
    TRY_VOID(advance());
    std::vector<Index> arguments;
    while (!token_.is_symbol(")")) {
      if (!arguments.empty()) {
        TRY_VOID(expect(","));
      }
      TRY(const Index argument, disjunction());
      arguments.push_back(argument);
    }
    TRY_VOID(advance());
    return builder_.call(token.text, std::move(arguments));
  }

  ExpressionLexer lexer_;
  ExpressionBuilder builder_;
  ExpressionToken token_;
  std::size_t depth_ = 0;
};

}  // namespace

Result<CompiledExpression> compile_expression(std::string_view text, const TableSchema& schema) {
  if (text.size() > kExpressionBytesMax) {
    return fail(Errc::kInvalidArgument, "expression is too long");
  }
  return Parser(text, schema).run();
}

}  // namespace moraine
