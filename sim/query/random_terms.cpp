#include "sim/query/random_terms.h"

#include <fmt/format.h>

#include "sim/query/random_tables.h"

namespace moraine::sim {
namespace {

using T = ValueType;

char letter_of(ValueType type) {
  switch (type) {
    case T::kInt64: return 'i';
    case T::kUint64: return 'u';
    case T::kDouble: return 'd';
    case T::kBoolean: return 'b';
    default: return 's';
  }
}

}  // namespace

Term TermMaker::made(Feature feature, ValueType type, std::string yt, std::string sql,
                     std::vector<Term> operands) {
  features_.add(feature);
  return {
      .type = type, .yt = std::move(yt), .sql = std::move(sql), .operands = std::move(operands)};
}

ValueType TermMaker::random_type() {
  static constexpr ValueType kTypes[] = {T::kInt64,  T::kInt64,  T::kUint64,
                                         T::kDouble, T::kString, T::kBoolean};
  return kTypes[random_.below(std::size(kTypes))];
}

Term TermMaker::any(const TermScope& scope, int depth) {
  return make(random_type(), scope, depth);
}

std::optional<Term> TermMaker::leaf(ValueType type, const TermScope& scope) {
  std::vector<const Term*> fitting;
  for (const Term& term : scope.leaves) {
    if (term.type == type) fitting.push_back(&term);
  }
  if (fitting.empty()) return std::nullopt;
  return *fitting[random_.below(fitting.size())];
}

std::optional<Term> TermMaker::small_unsigned(const TermScope& scope) {
  auto term = leaf(T::kUint64, scope);
  if (term && !term->is_column) return std::nullopt;
  return term;
}

Term TermMaker::literal(ValueType type) {
  const Value value = random_value(random_, type, dialect_.wrapping);
  // The least number cannot be written: its digits without the sign are out of range.
  const bool least = type == T::kInt64 && value.as_int64() == INT64_MIN;
  Term term = literal_term(least ? Value(std::int64_t{7}) : value);
  if (least || !one_in(6)) return term;
  const std::string name = fmt::format("p{}", placeholders_.size());
  switch (type) {
    case T::kInt64: placeholders_[name] = value.as_int64(); break;
    case T::kUint64: placeholders_[name] = value.as_uint64(); break;
    case T::kDouble: placeholders_[name] = value.as_double(); break;
    case T::kBoolean: placeholders_[name] = value.as_boolean(); break;
    default: placeholders_[name] = std::string(value.text()); break;
  }
  features_.add(Feature::kPlaceholder);
  term.yt = "{" + name + "}";
  return term;
}

Term TermMaker::constant(ValueType type) {
  if (!one_in(8)) return literal(type);
  features_.add(Feature::kNullLiteral);
  return {.type = type, .yt = one_in(4) ? "#" : "null", .sql = "NULL"};
}

Term TermMaker::make(ValueType type, const TermScope& scope, int depth) {
  if (scope.rows != nullptr && one_in(2)) return aggregate(type, *scope.rows);
  if (depth <= 0 || one_in(3)) {
    if (!one_in(4)) {
      if (auto term = leaf(type, scope)) return std::move(*term);
    }
    return literal(type);
  }
  if (scope.values && one_in(5)) {
    if (auto term = of_values(type, scope, depth - 1)) return std::move(*term);
  }
  if (one_in(4)) return choice(type, scope, depth - 1);
  switch (type) {
    case T::kInt64: return signed_number(scope, depth - 1);
    case T::kUint64: return unsigned_number(scope, depth - 1);
    case T::kDouble: return real_number(scope, depth - 1);
    case T::kBoolean: return condition(scope, depth);
    default: return text(scope, depth - 1);
  }
}

Term TermMaker::signed_number(const TermScope& scope, int depth) {
  const bool wraps = dialect_.wrapping;
  const auto operand = [&] { return make(T::kInt64, scope, depth); };
  const auto small = [&] { return literal_term(static_cast<std::int64_t>(1 + random_.below(4))); };
  switch (random_.below(10)) {
    case 0:
      return made(Feature::kArithmetic, T::kInt64, "($0 + $1)",
                  wraps ? "i_add($0, $1)" : "($0 + $1)", {operand(), operand()});
    case 1:
      return made(Feature::kArithmetic, T::kInt64, "($0 - $1)",
                  wraps ? "i_sub($0, $1)" : "($0 - $1)", {operand(), operand()});
    case 2:
      return made(Feature::kArithmetic, T::kInt64, "($0 * $1)",
                  wraps ? "i_mul($0, $1)" : "($0 * $1)", {operand(), small()});
    case 3:
      return made(Feature::kDivision, T::kInt64, "($0 / $1)", "($0 / $1)", {operand(), small()});
    case 4:
      return made(Feature::kDivision, T::kInt64, "($0 % $1)", "($0 % $1)", {operand(), small()});
    case 5: {
      static constexpr const char* kYt[] = {"($0 & $1)", "($0 | $1)", "xor($0, $1)", "($0 ^ $1)"};
      static constexpr const char* kSql[] = {"($0 & $1)", "($0 | $1)", "(($0 | $1) - ($0 & $1))",
                                             "(($0 | $1) - ($0 & $1))"};
      const std::size_t which = random_.below(4);
      return made(Feature::kBits, T::kInt64, kYt[which], kSql[which], {operand(), operand()});
    }
    case 6: {
      const Term shift = literal_term(static_cast<std::int64_t>(random_.below(5)));
      const char* form = one_in(2) ? "($0 << $1)" : "($0 >> $1)";
      return made(Feature::kShift, T::kInt64, form, form, {operand(), shift});
    }
    case 7:
      if (one_in(2)) return made(Feature::kUnary, T::kInt64, "(~$0)", "(~$0)", {operand()});
      return made(Feature::kUnary, T::kInt64, "(-$0)", wraps ? "i_neg($0)" : "(-$0)", {operand()});
    default: return signed_function(scope, depth);
  }
}

Term TermMaker::signed_function(const TermScope& scope, int depth) {
  const bool wraps = dialect_.wrapping;
  const auto of = [&](ValueType type) { return make(type, scope, depth); };
  switch (random_.below(wraps ? 6 : 9)) {
    case 0:
      return made(Feature::kTextFunction, T::kInt64, "length($0)", "length(CAST($0 AS BLOB))",
                  {of(T::kString)});
    case 1: {
      const bool is_unsigned = one_in(2);
      return made(Feature::kNumberFunction, T::kInt64, "bit_count($0)",
                  is_unsigned ? "bit_count($0, 1)" : "bit_count($0, 0)",
                  {of(is_unsigned ? T::kUint64 : T::kInt64)});
    }
    case 2: {
      const auto number = small_unsigned(scope);
      if (!number) return of(T::kInt64);
      return made(Feature::kConversion, T::kInt64, "int64($0)", "u_to_i($0)", {*number});
    }
    case 3:
      return made(Feature::kConversion, T::kInt64, "int64($0)", "CAST($0 AS INTEGER)",
                  {of(T::kDouble)});
    case 4:
      return made(Feature::kConversion, T::kInt64, "parse_int64(numeric_to_string($0))", "($0 + 0)",
                  {of(T::kInt64)});
    case 5:
      return made(Feature::kNumberFunction, T::kInt64, "sign($0)", "(($0 > 0) - ($0 < 0))",
                  {of(T::kInt64)});
    case 6: return made(Feature::kNumberFunction, T::kInt64, "abs($0)", "abs($0)", {of(T::kInt64)});
    case 7:
      if (dialect_.expression_builder_version < 2) return of(T::kInt64);
      return made(Feature::kCast, T::kInt64, "cast($0 as int64)", "CAST($0 AS INTEGER)",
                  {of(T::kDouble)});
    default: return time(scope, depth);
  }
}

// Of a time after 1970.
Term TermMaker::time(const TermScope& scope, int depth) {
  const Term moment = {.type = T::kInt64,
                       .yt = "(1446325284 + ($0 % 1000) * 777777)",
                       .sql = "(1446325284 + ($0 % 1000) * 777777)",
                       .operands = {make(T::kInt64, scope, depth)}};
  static constexpr std::pair<const char*, const char*> kFloors[] = {
      {"timestamp_floor_hour($0)", "($0 / 3600 * 3600)"},
      {"timestamp_floor_day($0)", "($0 / 86400 * 86400)"},
      {"timestamp_floor_week($0)", "((($0 / 86400 + 3) / 7 * 7 - 3) * 86400)"},
      {"timestamp_floor_month($0)",
       "CAST(strftime('%s', $0, 'unixepoch', 'start of month') AS INTEGER)"},
      {"timestamp_floor_quarter($0)",
       "CAST(strftime('%s', $0, 'unixepoch', 'start of month', '-' || ((CAST(strftime('%m', $0, "
       "'unixepoch') AS INTEGER) - 1) % 3) || ' months') AS INTEGER)"},
      {"timestamp_floor_year($0)",
       "CAST(strftime('%s', $0, 'unixepoch', 'start of year') AS INTEGER)"}};
  const auto& [yt, sql] = kFloors[random_.below(std::size(kFloors))];
  return made(Feature::kTimeFunction, T::kInt64, yt, sql, {moment});
}

Term TermMaker::unsigned_number(const TermScope& scope, int depth) {
  const auto operand = [&] { return make(T::kUint64, scope, depth); };
  const auto divisor = [&] { return literal_term(std::uint64_t{1} + random_.below(5)); };
  switch (random_.below(8)) {
    case 0:
      return made(Feature::kArithmetic, T::kUint64, "($0 + $1)", "u_add($0, $1)",
                  {operand(), operand()});
    case 1:
      return made(Feature::kArithmetic, T::kUint64, "($0 - $1)", "u_sub($0, $1)",
                  {operand(), operand()});
    case 2:
      return made(Feature::kArithmetic, T::kUint64, "($0 * $1)", "u_mul($0, $1)",
                  {operand(), operand()});
    case 3:
      return made(Feature::kDivision, T::kUint64, "($0 / $1)", "u_div($0, $1)",
                  {operand(), divisor()});
    case 4:
      return made(Feature::kDivision, T::kUint64, "($0 % $1)", "u_mod($0, $1)",
                  {operand(), divisor()});
    case 5: {
      static constexpr std::pair<const char*, const char*> kForms[] = {
          {"($0 & $1)", "u_and($0, $1)"},
          {"($0 | $1)", "u_or($0, $1)"},
          {"xor($0, $1)", "u_xor($0, $1)"}};
      const auto& [yt, sql] = kForms[random_.below(std::size(kForms))];
      return made(Feature::kBits, T::kUint64, yt, sql, {operand(), operand()});
    }
    case 6:
      return made(Feature::kConversion, T::kUint64, "uint64($0)", "i_to_u($0)",
                  {make(T::kInt64, scope, depth)});
    default: {
      std::vector<Term> arguments{any(scope, depth)};
      std::string letters(1, letter_of(arguments[0].type));
      const bool two = one_in(2);
      if (two) {
        arguments.push_back(any(scope, depth));
        letters += letter_of(arguments[1].type);
      }
      arguments.push_back(divisor());
      return made(Feature::kHashFunction, T::kUint64,
                  two ? "(farm_hash($0, $1) % $2)" : "(farm_hash($0) % $1)",
                  fmt::format("u_mod(farm_hash('{}', $0{}", letters, two ? ", $1), $2)" : "), $1)"),
                  std::move(arguments));
    }
  }
}

// No result is -0.0: + 0.0 makes it 0.0.
Term TermMaker::real_number(const TermScope& scope, int depth) {
  const auto operand = [&] { return make(T::kDouble, scope, depth); };
  const auto factor = [&] { return literal_term(random_.one_in(2) ? 0.5 : 2.0); };
  switch (random_.below(dialect_.wrapping ? 5 : 7)) {
    case 0:
      return made(Feature::kArithmetic, T::kDouble, "($0 + $1)", "($0 + $1)",
                  {operand(), operand()});
    case 1:
      return made(Feature::kArithmetic, T::kDouble, "($0 - $1)", "($0 - $1)",
                  {operand(), operand()});
    case 2:
      return made(Feature::kArithmetic, T::kDouble, "($0 * $1)", "($0 * $1)",
                  {operand(), factor()});
    case 3:
      return made(Feature::kDivision, T::kDouble, "($0 / $1)", "($0 / $1)", {operand(), factor()});
    case 4: {
      // The first three give int64.
      static constexpr const char* kFunctions[] = {"ceil", "floor", "trunc", "abs"};
      const std::size_t number = random_.below(4);
      const std::string call = fmt::format("{}($0)", kFunctions[number]);
      return made(Feature::kNumberFunction, T::kDouble,
                  fmt::format("({} + 0.0)", number < 3 ? "double(" + call + ")" : call),
                  fmt::format("({} + 0.0)", call), {operand()});
    }
    case 5:
      return made(Feature::kConversion, T::kDouble, "double($0)", "CAST($0 AS REAL)",
                  {make(T::kInt64, scope, depth)});
    default: {
      const auto number = small_unsigned(scope);
      if (!number) return operand();
      return made(Feature::kConversion, T::kDouble, "double($0)", "u_to_d($0)", {*number});
    }
  }
}

Term TermMaker::text(const TermScope& scope, int depth) {
  const auto operand = [&] { return make(T::kString, scope, depth); };
  switch (random_.below(7)) {
    case 0:
      return made(Feature::kConcat, T::kString, "($0 || $1)", "($0 || $1)", {operand(), operand()});
    case 1:
      return made(Feature::kTextFunction, T::kString, "concat($0, $1)", "($0 || $1)",
                  {operand(), operand()});
    case 2: return made(Feature::kTextFunction, T::kString, "lower($0)", "lower($0)", {operand()});
    case 3:
      return made(Feature::kConversion, T::kString, "numeric_to_string($0)", "CAST($0 AS TEXT)",
                  {make(T::kInt64, scope, depth)});
    case 4:
      return made(Feature::kConversion, T::kString, "numeric_to_string($0)", "u_text($0)",
                  {make(T::kUint64, scope, depth)});
    case 5:
      return made(Feature::kTextFunction, T::kString, "regex_replace_all('a', $0, 'xy')",
                  "replace($0, 'a', 'xy')", {operand()});
    default:
      if (dialect_.wrapping) return operand();
      return made(Feature::kTimeFunction, T::kString,
                  "format_timestamp(1446325284 + ($0 % 1000) * 77777, '%Y-%m-%dT%H:%M:%S')",
                  "strftime('%Y-%m-%dT%H:%M:%S', 1446325284 + ($0 % 1000) * 77777, 'unixepoch')",
                  {make(T::kInt64, scope, depth)});
  }
}

Term TermMaker::choice(ValueType type, const TermScope& scope, int depth) {
  const auto operand = [&] { return make(type, scope, depth); };
  const auto test = [&] { return condition(scope, depth); };
  switch (random_.below(7)) {
    case 0:
      return made(Feature::kIf, type, "if($0, $1, $2)",
                  "(CASE WHEN $0 IS NULL THEN NULL WHEN $0 THEN $1 ELSE $2 END)",
                  {test(), operand(), operand()});
    case 1:
      return made(Feature::kIfNull, type, "if_null($0, $1)", "ifnull($0, $1)",
                  {operand(), operand()});
    case 2:
      return made(Feature::kCoalesce, type, "coalesce($0, $1, $2)", "coalesce($0, $1, $2)",
                  {operand(), operand(), operand()});
    case 3:
      if (type == T::kBoolean) return operand();
      return made(Feature::kGreatest, type, "greatest($0, $1)", "max($0, $1)",
                  {operand(), operand()});
    case 4:
      if (one_in(2)) {
        return made(Feature::kCase, type, "(case when $0 then $1 when $2 then $3 else $4 end)",
                    "(CASE WHEN $0 THEN $1 WHEN $2 THEN $3 ELSE $4 END)",
                    {test(), operand(), test(), operand(), operand()});
      }
      return made(Feature::kCase, type, "(case when $0 then $1 end)", "(CASE WHEN $0 THEN $1 END)",
                  {test(), operand()});
    case 5: {
      const ValueType subject_type = random_type();
      return made(Feature::kCaseSubject, type, "(case $0 when $1 then $2 else $3 end)",
                  "(CASE WHEN " + relation("=", "$0", "$1") + " THEN $2 ELSE $3 END)",
                  {make(subject_type, scope, depth), constant(subject_type), operand(), operand()});
    }
    default: return transform(type, scope, depth);
  }
}

Term TermMaker::transform(ValueType type, const TermScope& scope, int depth) {
  const ValueType subject_type = random_type();
  std::vector<Term> operands{make(subject_type, scope, depth), literal(subject_type),
                             constant(subject_type), make(type, scope, 0), literal(type)};
  std::string yt = "transform($0, ($1, $2), ($3, $4)";
  std::string sql = "(CASE WHEN " + relation("=", "$0", "$1") + " THEN $3 WHEN " +
                    relation("=", "$0", "$2") + " THEN $4";
  if (one_in(2)) {
    operands.push_back(make(type, scope, depth));
    yt += ", $5";
    sql += " ELSE $5";
  }
  return made(Feature::kTransform, type, yt + ")", sql + " END)", std::move(operands));
}

Term TermMaker::aggregate(ValueType type, const TermScope& rows) {
  TermScope plain = rows;
  plain.rows = nullptr;
  const auto argument = [&](ValueType of) {
    return make(of, plain, static_cast<int>(random_.below(2)));
  };
  const bool wraps = dialect_.wrapping;
  if (!rows.unique.empty() && one_in(6)) {
    std::vector<const Term*> fitting;
    for (const Term& term : rows.of_unique) {
      if (term.type == type) fitting.push_back(&term);
    }
    if (!fitting.empty()) {
      const std::string name = one_in(2) ? "argmin($0, $1)" : "argmax($0, $1)";
      return made(Feature::kArgminArgmax, type, name, name,
                  {*fitting[random_.below(fitting.size())], rows.unique[0]});
    }
  }
  if (type == T::kInt64 && one_in(2)) {
    return made(Feature::kSum, type, "sum($0)", wraps ? "i_sum($0)" : "sum($0)", {argument(type)});
  }
  if (type == T::kUint64 && one_in(2)) {
    return made(Feature::kSum, type, "sum($0)", "u_sum($0)", {argument(type)});
  }
  if (type == T::kDouble && one_in(2)) {
    if (one_in(2) || !allow_avg) {
      return made(Feature::kSum, type, "sum($0)", "sum($0)", {argument(type)});
    }
    if (wraps || one_in(3))
      return made(Feature::kAvg, type, "avg($0)", "avg($0)", {argument(type)});
    if (one_in(2)) return made(Feature::kAvg, type, "avg($0)", "avg($0)", {argument(T::kInt64)});
    if (const auto number = small_unsigned(plain)) {
      return made(Feature::kAvg, type, "avg($0)", "u_avg($0)", {*number});
    }
  }
  const std::string name = one_in(2) ? "min($0)" : "max($0)";
  return made(Feature::kMinMax, type, name, name, {argument(type)});
}

Term TermMaker::cardinality(const TermScope& rows) {
  TermScope plain = rows;
  plain.rows = nullptr;
  const Term argument = any(plain, 0);
  static constexpr const char* kNames[] = {"cardinality($0)", "uniq($0)", "hll_11($0)"};
  return made(Feature::kCardinality, T::kUint64, kNames[random_.below(3)],
              "i_to_u(count(DISTINCT $0))", {argument});
}

}  // namespace moraine::sim
