// Terms over values of type any: random_terms.h.
//
// The column y holds a map whose keys may be missing: a int64, b boolean, d double, m int64 or
// string, s string. l is a list of int64 or null, m a list of strings or null, t a struct of a:
// int64 and s: string.

#include <fmt/format.h>

#include "sim/query/random_tables.h"
#include "sim/query/random_terms.h"

namespace moraine::sim {
namespace {

using T = ValueType;

}  // namespace

Term TermMaker::mixed_value(const TermScope& scope) {
  return made(Feature::kAnyGet, T::kAny, "try_get_any($0, '/m')", "json_extract($0, '$.m')",
              {scope.values->map});
}

std::optional<Term> TermMaker::of_values(ValueType type, const TermScope& scope, int depth) {
  switch (type) {
    case T::kInt64: return number_of_values(scope, depth);
    case T::kDouble:
      return made(Feature::kAnyGet, type, "try_get_double($0, '/d')",
                  "(CASE json_type($0, '$.d') WHEN 'real' THEN json_extract($0, '$.d') END)",
                  {scope.values->map});
    case T::kBoolean: return test_of_values(scope, depth);
    case T::kString: return text_of_values(scope, depth);
    default: return std::nullopt;
  }
}

Term TermMaker::number_of_values(const TermScope& scope, int depth) {
  const RandomValues& values = *scope.values;
  const bool members = dialect_.syntax_version >= 2;
  const auto number = [&] { return make(T::kInt64, scope, depth - 1); };
  switch (random_.below(members ? 8 : 5)) {
    case 0:
      return made(Feature::kAnyGet, T::kInt64, "try_get_int64($0, '/a')", "json_extract($0, '$.a')",
                  {values.map});
    case 1:
      return made(Feature::kListLength, T::kInt64, "yson_length($0)", "json_array_length($0)",
                  {one_in(2) ? values.numbers : values.texts});
    case 2:
      return made(Feature::kAnyCast, T::kInt64, "int64(try_get_any($0, '/a'))",
                  "json_extract($0, '$.a')", {values.map});
    case 3:
      return made(Feature::kAnyMake, T::kInt64, "try_get_int64(make_map('k', $0, 'x', $1), '/k')",
                  "ifnull($0, NULL)", {number(), values.map});
    case 4:
      return made(Feature::kAnyMake, T::kInt64, "try_get_int64(make_list($1, $0), '/-1')",
                  "ifnull($0, NULL)", {number(), values.map});
    case 5:
      return made(Feature::kMember, T::kInt64, "$0.a", "json_extract($0, '$[0]')", {values.pair});
    case 6:
      return made(Feature::kElement, T::kInt64, "$0[-1]", "json_extract($0, '$[#-1]')",
                  {values.numbers});
    default: {
      const std::uint64_t place = random_.below(4);
      return made(Feature::kElement, T::kInt64, fmt::format("$0[{}]", place),
                  fmt::format("json_extract($0, '$[{}]')", place), {values.numbers});
    }
  }
}

Term TermMaker::text_of_values(const TermScope& scope, int depth) {
  const RandomValues& values = *scope.values;
  const auto text = [&] { return make(T::kString, scope, depth - 1); };
  switch (random_.below(dialect_.syntax_version >= 2 ? 5 : 3)) {
    case 0:
      return made(Feature::kAnyGet, T::kString, "try_get_string($0, '/m')",
                  "(CASE json_type($0, '$.m') WHEN 'text' THEN json_extract($0, '$.m') END)",
                  {values.map});
    case 1:
      return made(Feature::kAnyCast, T::kString, "string(to_any($0))", "ifnull($0, NULL)",
                  {text()});
    case 2:
      return made(Feature::kAnyMake, T::kString, "try_get_string(make_list($0), '/0')",
                  "ifnull($0, NULL)", {text()});
    case 3:
      return made(Feature::kMember, T::kString, "$0.s", "json_extract($0, '$[1]')", {values.pair});
    default:
      return made(Feature::kElement, T::kString, "$0[0]", "json_extract($0, '$[0]')",
                  {values.texts});
  }
}

Term TermMaker::test_of_values(const TermScope& scope, int depth) {
  const RandomValues& values = *scope.values;
  switch (random_.below(6)) {
    case 0:
      return made(Feature::kAnyGet, T::kBoolean, "try_get_boolean($0, '/b')",
                  "json_extract($0, '$.b')", {values.map});
    case 1:
      return made(Feature::kListContains, T::kBoolean, "list_contains($0, $1)",
                  "(CASE WHEN $0 IS NOT NULL THEN EXISTS (SELECT 1 FROM json_each($0) WHERE value "
                  "IS $1) END)",
                  {values.numbers, make(T::kInt64, scope, depth - 1)});
    case 2:
      return made(Feature::kListContains, T::kBoolean, "list_contains($0, $1)",
                  "(CASE WHEN $0 IS NOT NULL THEN EXISTS (SELECT 1 FROM json_each($0) WHERE value "
                  "IS $1) END)",
                  {values.texts, make(T::kString, scope, depth - 1)});
    case 3:
      return made(Feature::kListsIntersect, T::kBoolean,
                  "list_has_intersection($0, make_list($1, $2))",
                  "(CASE WHEN $0 IS NOT NULL THEN EXISTS (SELECT 1 FROM json_each($0) WHERE value "
                  "IS $1 OR value IS $2) END)",
                  {values.numbers, make(T::kInt64, scope, depth - 1), literal(T::kInt64)});
    default: return compared_values(scope);
  }
}

// An int64 or a string, compared with both: all int64 are below all strings.
Term TermMaker::compared_values(const TermScope& scope) {
  const auto other = [&] { return constant(one_in(2) ? T::kInt64 : T::kString); };
  const Term subject = mixed_value(scope);
  switch (random_.below(4)) {
    case 0:
      return made(Feature::kAnyIn, T::kBoolean, "($0 in ($1, $2))",
                  "(" + relation("=", "$0", "$1") + " OR " + relation("=", "$0", "$2") + ")",
                  {subject, other(), other()});
    case 1:
      return made(Feature::kAnyBetween, T::kBoolean, "($0 between $1 and $2)",
                  "(" + relation(">=", "$0", "$1") + " AND " + relation("<=", "$0", "$2") + ")",
                  {subject, other(), other()});
    default: {
      static constexpr std::string_view kRelations[] = {"=", "!=", "<", "<=", ">", ">="};
      const std::string op(kRelations[random_.below(std::size(kRelations))]);
      return made(Feature::kAnyComparison, T::kBoolean, "($0 " + op + " $1)",
                  relation(op, "$0", "$1"), {subject, other()});
    }
  }
}

}  // namespace moraine::sim
