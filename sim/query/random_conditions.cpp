// Conditions of random_terms.h.

#include <fmt/format.h>

#include "sim/query/random_tables.h"
#include "sim/query/random_terms.h"

namespace moraine::sim {
namespace {

using T = ValueType;

constexpr std::string_view kRelations[] = {"=", "!=", "<", "<=", ">", ">="};

std::vector<std::string> places(std::size_t first, std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = first; i < first + count; ++i) all.push_back(fmt::format("${}", i));
  return all;
}
std::string tuple_of(const std::vector<std::string>& parts) {
  return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace

Term TermMaker::condition(const TermScope& scope, int depth) {
  if (depth > 0 && !one_in(3)) {
    const auto operand = [&] { return condition(scope, depth - 1); };
    switch (random_.below(4)) {
      case 0: return made(Feature::kNot, T::kBoolean, "(not $0)", "(NOT $0)", {operand()});
      case 1:
        return made(Feature::kOr, T::kBoolean, "($0 or $1)", "($0 OR $1)", {operand(), operand()});
      case 2:
        return made(Feature::kAnd, T::kBoolean, "($0 and $1 and $2)", "($0 AND $1 AND $2)",
                    {operand(), operand(), operand()});
      default:
        return made(Feature::kAnd, T::kBoolean, "($0 and $1)", "($0 AND $1)",
                    {operand(), operand()});
    }
  }
  if (scope.values && one_in(5)) return test_of_values(scope, depth);
  switch (random_.below(14)) {
    case 0:
    case 1:
    case 2: return comparison(scope, depth);
    case 3: return tuple_comparison(scope, depth);
    case 4: return in(scope, depth);
    case 5: return tuple_in(scope, depth);
    case 6: return between(scope, depth);
    case 7: return tuple_between(scope, depth);
    case 8: return like(scope, depth);
    case 9: {
      if (auto term = leaf(T::kBoolean, scope)) return std::move(*term);
      return comparison(scope, depth);
    }
    case 10: {
      static constexpr std::pair<const char*, const char*> kForms[] = {
          {"is_null($0)", "($0 IS NULL)"},
          {"($0 is null)", "($0 IS NULL)"},
          {"($0 is not null)", "($0 IS NOT NULL)"}};
      const auto& [yt, sql] = kForms[random_.below(3)];
      return made(Feature::kIsNull, T::kBoolean, yt, sql, {subject(scope, depth)});
    }
    case 11: return choice(T::kBoolean, scope, depth - 1);
    default: return boolean_function(scope, depth);
  }
}

Term TermMaker::subject(const TermScope& scope, int depth) {
  if (!scope.keys.empty() && !one_in(3)) return scope.keys[random_.below(scope.keys.size())];
  if (!scope.leaves.empty() && !one_in(4)) return scope.leaves[random_.below(scope.leaves.size())];
  return any(scope, depth - 1);
}

Term TermMaker::comparison(const TermScope& scope, int depth) {
  Term left = subject(scope, depth);
  const std::string op(kRelations[random_.below(std::size(kRelations))]);
  Term right;
  const bool is_column =
      left.operands.empty() && left.yt.find_first_of("'{}.") == std::string::npos;
  if (one_in(4)) {
    right = make(left.type, scope, depth - 1);
  } else if (is_column && one_in(4) && (left.type == T::kUint64 || left.type == T::kDouble) &&
             leaf(left.type, scope)) {
    // An int literal takes the type of the other side.
    left = *leaf(left.type, scope);
    features_.add(Feature::kAdaptedLiteral);
    const std::uint64_t number = random_.below(6);
    right = {.type = left.type,
             .yt = fmt::format("{}", number),
             .sql = left.type == T::kUint64 ? sql_literal(number) : fmt::format("{}.0", number)};
  } else {
    right = constant(left.type);
  }
  if (one_in(5)) std::swap(left, right);
  return made(Feature::kComparison, T::kBoolean, "($0 " + op + " $1)", relation(op, "$0", "$1"),
              {std::move(left), std::move(right)});
}

std::vector<Term> TermMaker::subjects(const TermScope& scope, std::size_t count) {
  std::vector<Term> all;
  // A prefix of the key in order, or any columns.
  const bool prefix = scope.keys.size() >= count && !one_in(3);
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(prefix ? scope.keys[i] : subject(scope, 1));
  }
  return all;
}

Term TermMaker::tuple_comparison(const TermScope& scope, int /*depth*/) {
  const std::size_t width = 2 + random_.below(2);
  std::vector<Term> operands = subjects(scope, width);
  for (std::size_t i = 0; i < width; ++i) {
    operands.push_back(one_in(5) ? make(operands[i].type, scope, 0) : constant(operands[i].type));
  }
  const std::string op(kRelations[random_.below(std::size(kRelations))]);
  const auto left = places(0, width);
  const auto right = places(width, width);
  return made(Feature::kTupleComparison, T::kBoolean,
              fmt::format("({} {} {})", tuple_of(left), op, tuple_of(right)),
              sql_tuple_relation(op, left, right, dialect_.canonical_nulls), std::move(operands));
}

Term TermMaker::in(const TermScope& scope, int depth) {
  std::vector<Term> operands{subject(scope, depth)};
  const bool negated = one_in(3);
  features_.add(negated ? Feature::kNotIn : Feature::kIn);
  const std::size_t count = one_in(12) ? 0 : 1 + random_.below(5);
  if (count == 0) {
    return made(Feature::kEmptyIn, T::kBoolean, negated ? "($0 not in ())" : "($0 in ())",
                negated ? "(1 = 1)" : "(1 = 0)", std::move(operands));
  }
  std::string any_of;
  for (std::size_t i = 1; i <= count; ++i) {
    operands.push_back(constant(operands[0].type));
    any_of += (i > 1 ? " OR " : "") + relation("=", "$0", fmt::format("${}", i));
  }
  std::string items = tuple_of(places(1, count));
  if (one_in(6)) {
    // All items as one placeholder.
    const std::string name = fmt::format("p{}", placeholders_.size());
    YsonList list;
    for (std::size_t i = 1; i <= count; ++i) {
      const Value value = random_value(random_, operands[0].type, dialect_.wrapping);
      operands[i] = literal_term(value);
      switch (value.type()) {
        case T::kInt64: list.emplace_back(value.as_int64()); break;
        case T::kUint64: list.emplace_back(value.as_uint64()); break;
        case T::kDouble: list.emplace_back(value.as_double()); break;
        case T::kBoolean: list.emplace_back(value.as_boolean()); break;
        default: list.emplace_back(value.text()); break;
      }
    }
    placeholders_[name] = std::move(list);
    features_.add(Feature::kPlaceholderList);
    items = "{" + name + "}";
  }
  return made(Feature::kIn, T::kBoolean, fmt::format("($0 {}in {})", negated ? "not " : "", items),
              fmt::format("({}({}))", negated ? "NOT " : "", any_of), std::move(operands));
}

Term TermMaker::tuple_in(const TermScope& scope, int /*depth*/) {
  constexpr std::size_t kWidth = 2;
  std::vector<Term> operands = subjects(scope, kWidth);
  const std::size_t count = 1 + random_.below(3);
  const bool negated = one_in(3);
  std::vector<std::string> items;
  std::string any_of;
  for (std::size_t i = 0; i < count; ++i) {
    const auto item = places(operands.size(), kWidth);
    for (std::size_t part = 0; part < kWidth; ++part) {
      operands.push_back(constant(operands[part].type));
    }
    items.push_back(tuple_of(item));
    any_of += (i > 0 ? " OR " : "") +
              sql_tuple_relation("=", places(0, kWidth), item, dialect_.canonical_nulls);
  }
  return made(Feature::kTupleIn, T::kBoolean,
              fmt::format("(($0, $1) {}in {})", negated ? "not " : "", tuple_of(items)),
              fmt::format("({}({}))", negated ? "NOT " : "", any_of), std::move(operands));
}

Term TermMaker::between(const TermScope& scope, int depth) {
  std::vector<Term> operands{subject(scope, depth)};
  const bool negated = one_in(3);
  const std::size_t pairs = one_in(3) ? 2 : 1;
  std::vector<std::string> items;
  std::string any_of;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::string low = fmt::format("${}", operands.size());
    const std::string high = fmt::format("${}", operands.size() + 1);
    operands.push_back(constant(operands[0].type));
    operands.push_back(constant(operands[0].type));
    items.push_back(fmt::format("{} and {}", low, high));
    any_of += fmt::format("{}({} AND {})", i > 0 ? " OR " : "", relation(">=", "$0", low),
                          relation("<=", "$0", high));
  }
  if (pairs > 1) features_.add(Feature::kBetweenList);
  const std::string list = pairs > 1 ? tuple_of(items) : items[0];
  return made(negated ? Feature::kNotBetween : Feature::kBetween, T::kBoolean,
              fmt::format("($0 {}between {})", negated ? "not " : "", list),
              fmt::format("({}({}))", negated ? "NOT " : "", any_of), std::move(operands));
}

// Bounds may be shorter than the tuple: then all that begins with them is inside.
Term TermMaker::tuple_between(const TermScope& scope, int /*depth*/) {
  constexpr std::size_t kWidth = 2;
  std::vector<Term> operands = subjects(scope, kWidth);
  const std::size_t pairs = 1 + random_.below(2);
  std::vector<std::string> items;
  std::string any_of;
  for (std::size_t i = 0; i < pairs; ++i) {
    std::string yt[2];
    std::string sql[2];
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t width = one_in(3) ? 1 : kWidth;
      if (width < kWidth) features_.add(Feature::kPrefixBetween);
      const auto bound = places(operands.size(), width);
      for (std::size_t part = 0; part < width; ++part) {
        operands.push_back(constant(operands[part].type));
      }
      yt[side] = tuple_of(bound);
      sql[side] = sql_tuple_relation(side == 0 ? ">=" : "<=", places(0, width), bound,
                                     dialect_.canonical_nulls);
    }
    items.push_back(yt[0] + " and " + yt[1]);
    any_of += fmt::format("{}({} AND {})", i > 0 ? " OR " : "", sql[0], sql[1]);
  }
  return made(Feature::kTupleBetween, T::kBoolean,
              fmt::format("(($0, $1) between {})", tuple_of(items)), "(" + any_of + ")",
              std::move(operands));
}

Term TermMaker::like(const TermScope& scope, int depth) {
  static constexpr std::string_view kPatterns[] = {"%",  "a%", "%b",  "_",   "a_",   "%a%b%", "",
                                                   "ab", "A%", "%é%", "a__", "__%b", "it's%"};
  static constexpr std::string_view kExpressions[] = {"a.*", "[ab]+", "(ab)*c?",
                                                      "a?b", ".*",    "[A-Z]b"};
  Term subject = make(T::kString, scope, depth - 1);
  const bool negated = one_in(3);
  const char* const no = negated ? "not " : "";
  const char* const sql_no = negated ? "NOT " : "";
  const auto pattern = [&](std::string_view text) { return literal_term(Value(text)); };
  const auto& any = kPatterns[random_.below(std::size(kPatterns))];
  if (negated) features_.add(Feature::kNotLike);
  switch (random_.below(4)) {
    case 0: {
      const std::string_view expression = kExpressions[random_.below(std::size(kExpressions))];
      const char* const word = one_in(2) ? "rlike" : "regexp";
      return made(Feature::kRegexp, T::kBoolean, fmt::format("($0 {}{} $1)", no, word),
                  fmt::format("({}regexp_full($1, $0))", sql_no), {subject, pattern(expression)});
    }
    case 1:
      return made(Feature::kIlike, T::kBoolean, fmt::format("($0 {}ilike $1)", no),
                  fmt::format("({}(lower($0) LIKE lower($1) ESCAPE '\\'))", sql_no),
                  {subject, pattern(any)});
    case 2: {
      static constexpr std::string_view kEscaped[] = {"%!%%", "a!_b", "!_", "a!%%", "%!_%"};
      return made(Feature::kLikeEscape, T::kBoolean, fmt::format("($0 {}like $1 escape '!')", no),
                  fmt::format("({}($0 LIKE $1 ESCAPE '!'))", sql_no),
                  {subject, pattern(kEscaped[random_.below(std::size(kEscaped))])});
    }
    default:
      return made(Feature::kLike, T::kBoolean, fmt::format("($0 {}like $1)", no),
                  fmt::format("({}($0 LIKE $1 ESCAPE '\\'))", sql_no), {subject, pattern(any)});
  }
}

Term TermMaker::boolean_function(const TermScope& scope, int depth) {
  const auto of = [&](ValueType type) { return make(type, scope, depth - 1); };
  switch (random_.below(4)) {
    case 0:
      return made(Feature::kTextFunction, T::kBoolean, "is_substr($0, $1)", "(instr($1, $0) > 0)",
                  {of(T::kString), of(T::kString)});
    case 1: {
      // Of a key column, if there is one of texts: ranges know this function.
      Term whole = of(T::kString);
      for (const Term& key : scope.keys) {
        if (key.type == T::kString && !one_in(3)) whole = key;
      }
      return made(Feature::kTextFunction, T::kBoolean, "is_prefix($0, $1)",
                  "(substr($1, 1, length($0)) = $0)", {literal(T::kString), std::move(whole)});
    }
    case 2:
      return made(Feature::kRegexp, T::kBoolean, "regex_full_match('a.*|b', $0)",
                  "ifnull(regexp_full('a.*|b', $0), 0)", {of(T::kString)});
    default:
      return made(Feature::kConversion, T::kBoolean, "boolean($0)", "($0 <> 0)", {of(T::kInt64)});
  }
}

}  // namespace moraine::sim
