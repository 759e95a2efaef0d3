#include "sim/query/term.h"

#include <fmt/format.h>

#include <limits>

namespace moraine::sim {
namespace {

constexpr std::uint64_t kHighestBit = std::uint64_t{1} << 63;

template <class Write>
std::string substitute(const std::string& pattern, const std::vector<Term>& operands,
                       const Write& write) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool place = pattern[i] == '$' && i + 1 < pattern.size() && pattern[i + 1] >= '0' &&
                       pattern[i + 1] <= '9';
    if (!place || operands.empty()) {
      out.push_back(pattern[i]);
    } else {
      out += write(operands.at(static_cast<std::size_t>(pattern[++i] - '0')));
    }
  }
  return out;
}

std::string quoted(std::string_view text, char quote, bool doubled) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote && doubled) out.push_back(quote);
    if ((c == quote || c == '\\') && !doubled) out.push_back('\\');
    out.push_back(c);
  }
  out.push_back(quote);
  return out;
}

std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return value < 0 ? "(" + text + ")" : text;
}

std::string lexicographic(std::string_view op, const std::vector<std::string>& a,
                          const std::vector<std::string>& b, std::size_t at, bool canonical) {
  if (at + 1 == a.size()) return sql_relation(op, a[at], b[at], canonical);
  const std::string_view strict = op.substr(0, 1);
  return fmt::format("({} OR ({} AND {}))", sql_relation(strict, a[at], b[at], canonical),
                     sql_relation("=", a[at], b[at], canonical),
                     lexicographic(op, a, b, at + 1, canonical));
}

}  // namespace

std::string write_yt(const Term& term) {
  return substitute(term.yt, term.operands, [](const Term& operand) { return write_yt(operand); });
}

std::string write_sql(const Term& term, bool totals) {
  if (totals && term.is_group_key) return "NULL";
  return substitute(term.sql, term.operands,
                    [&](const Term& operand) { return write_sql(operand, totals); });
}

std::int64_t flip(std::uint64_t value) {
  return static_cast<std::int64_t>(value ^ kHighestBit);
}
std::uint64_t unflip(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ kHighestBit;
}

std::string yt_literal(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64:
      return value.as_int64() < 0 ? fmt::format("({})", value.as_int64())
                                  : fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
    case ValueType::kDouble: return double_text(value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    case ValueType::kString: return quoted(value.text(), '\'', /*doubled=*/false);
    default: return "null";
  }
}

std::string sql_literal(const Value& value) {
  const auto integer = [](std::int64_t number) -> std::string {
    if (number == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807 - 1)";
    return number < 0 ? fmt::format("({})", number) : fmt::format("{}", number);
  };
  switch (value.type()) {
    case ValueType::kInt64: return integer(value.as_int64());
    case ValueType::kUint64: return integer(flip(value.as_uint64()));
    case ValueType::kDouble: return double_text(value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "1" : "0";
    case ValueType::kString: return quoted(value.text(), '\'', /*doubled=*/true);
    default: return "NULL";
  }
}

Term literal_term(const Value& value) {
  return {.type = value.type(), .yt = yt_literal(value), .sql = sql_literal(value)};
}

std::string sql_relation(std::string_view op, const std::string& a, const std::string& b,
                         bool canonical) {
  if (canonical) return fmt::format("({} {} {})", a, op, b);
  if (op == "=") return fmt::format("({} IS {})", a, b);
  if (op == "!=") return fmt::format("({} IS NOT {})", a, b);
  // Null is below all values.
  if (op == "<") return fmt::format("coalesce({0} < {1}, {0} IS NULL AND {1} IS NOT NULL)", a, b);
  if (op == ">") return fmt::format("coalesce({0} > {1}, {1} IS NULL AND {0} IS NOT NULL)", a, b);
  return op == "<=" ? fmt::format("coalesce({0} <= {1}, {0} IS NULL)", a, b)
                    : fmt::format("coalesce({0} >= {1}, {1} IS NULL)", a, b);
}

std::string sql_tuple_relation(std::string_view op, const std::vector<std::string>& a,
                               const std::vector<std::string>& b, bool canonical) {
  if (op == "=" || op == "!=") {
    std::string all;
    for (std::size_t i = 0; i < a.size(); ++i) {
      all += (i > 0 ? " AND " : "") + sql_relation("=", a[i], b[i], canonical);
    }
    return op == "=" ? "(" + all + ")" : "(NOT (" + all + "))";
  }
  // As SQLite compares row values.
  if (canonical && a.size() > 1) {
    const auto row = [](const std::vector<std::string>& values) {
      std::string text;
      for (const std::string& value : values) text += (text.empty() ? "(" : ", ") + value;
      return text + ")";
    };
    return "(" + row(a) + " " + std::string(op) + " " + row(b) + ")";
  }
  return lexicographic(op, a, b, 0, canonical);
}

}  // namespace moraine::sim
