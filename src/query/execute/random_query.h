// Random queries of the YT dialect over two tables with every type, for tests.
//
// Promise    Most texts bind. The order of rows is either that of the keys, or unique by ORDER BY,
//            unless sorted() is asked for: then rows are compared in any order.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

#include "io/random.h"
#include "query/model/run.h"
#include "query/plan/test_tables.h"

namespace moraine::query {

// t: a, s key; r: v key.
inline Schemas random_schemas() {
  return {{"//t", make_schema({{.name = "a", .type = ColumnType::kInt64, .key = true},
                               {.name = "s", .type = ColumnType::kString, .key = true},
                               {.name = "v", .type = ColumnType::kInt64},
                               {.name = "u", .type = ColumnType::kUint64},
                               {.name = "d", .type = ColumnType::kDouble},
                               {.name = "f", .type = ColumnType::kBoolean},
                               {.name = "x", .type = ColumnType::kString},
                               {.name = "n", .type = ColumnType::kInt64, .required = true}})},
          {"//r", make_schema({{.name = "v", .type = ColumnType::kInt64, .key = true},
                               {.name = "w", .type = ColumnType::kInt64, .key = true},
                               {.name = "y", .type = ColumnType::kString}})}};
}

class RandomQuery {
 public:
  explicit RandomQuery(std::uint64_t seed) : random_(seed) {}

  // Cells by position in the schema; keys are unique.
  TableRows tables(std::size_t rows) {
    TableRows tables;
    for (std::size_t i = 0; i < rows; ++i) {
      tables["//t"].push_back(
          {static_cast<std::int64_t>(i / 3) - 5, Value(text_value()),
           maybe(std::int64_t(random_.below(7)) - 2), maybe(std::uint64_t{random_.below(5)}),
           maybe(static_cast<double>(random_.below(9)) / 4 - 1), maybe(random_.one_in(2)),
           maybe(Value(text_value())), std::int64_t(random_.below(100))});
    }
    std::ranges::sort(tables["//t"], {}, [](const Row& row) {
      return std::pair(row[0].as_int64(), std::string(row[1].text()));
    });
    const auto same = std::ranges::unique(
        tables["//t"], [](const Row& a, const Row& b) { return a[0] == b[0] && a[1] == b[1]; });
    tables["//t"].erase(same.begin(), same.end());
    tables["//r"];
    for (std::int64_t v = -2; v < 5; ++v) {
      for (std::int64_t w = 0; w < 3; ++w) {
        if (random_.one_in(2)) tables["//r"].push_back({v, w, maybe(Value(text_value()))});
      }
    }
    return tables;
  }

  struct Text {
    std::string text;
    bool sorted = false;  // Compare in this order.
  };
  Text query() {
    joined_ = random_.one_in(4);
    std::string from = "[//t]";
    if (joined_) {
      from += random_.one_in(2) ? " left join [//r] using v" : " join [//r] using v";
      if (random_.one_in(4)) from += " and w > 0";
    }
    std::string where;
    if (!random_.one_in(4)) where = " where " + boolean(3);
    if (joined_ && !where.empty() && random_.one_in(2)) {
      where += random_.one_in(2) ? " and w > 0" : " and (is_null(y) or w <= 1)";
    }
    if (random_.one_in(2)) return grouped(from, where);
    std::string columns = "a, s";
    for (int i = 0; i < 3; ++i) columns += fmt::format(", {} as c{}", any(3), i);
    if (joined_) columns += ", w";
    if (joined_ || !random_.one_in(3)) {
      return {columns + " from " + from + where + (joined_ ? "" : limit()), !joined_};
    }
    return {columns + " from " + from + where + " order by " + any(2) + descending() + ", a, s" +
                descending() + limit(),
            true};
  }

  std::string any(int depth) {
    switch (random_.below(5)) {
      case 0: return text(depth);
      case 1: return boolean(depth);
      case 2: return number(depth, 'u');
      case 3: return number(depth, 'd');
      default: return number(depth, 'i');
    }
  }

  std::string boolean(int depth) {
    if (depth <= 0) return random_.one_in(3) ? "f" : random_.one_in(2) ? "true" : "is_null(x)";
    switch (random_.below(12)) {
      case 0: return "(" + boolean(depth - 1) + " and " + boolean(depth - 1) + ")";
      case 1: return "(" + boolean(depth - 1) + " or " + boolean(depth - 1) + ")";
      case 2: return "(not " + boolean(depth - 1) + ")";
      case 3: return choice("boolean", depth);
      case 4: return list_test(depth);
      case 5: return text_test(depth);
      case 6: return "is_null(" + any(depth - 1) + ")";
      case 7: return "((a, s) " + relation() + " (" + integer() + ", " + literal_text() + "))";
      default: {
        static constexpr std::array kTypes{'i', 'u', 'd', 's'};
        const char type = kTypes[random_.below(4)];
        const auto side = [&](int down) { return type == 's' ? text(down) : number(down, type); };
        return "(" + side(depth - 1) + " " + relation() + " " +
               (random_.one_in(2) ? literal(type) : side(depth - 1)) + ")";
      }
    }
  }

 private:
  template <class T>
  Value maybe(T value) {
    return random_.one_in(5) ? Value() : Value(value);
  }
  std::string_view text_value() {
    static constexpr std::array<std::string_view, 8> kTexts{
        "", "a", "ab", "b", "abc", "Zoé", "long enough to be no short text", "aXb"};
    return kTexts[random_.below(kTexts.size())];
  }
  std::string literal_text() { return fmt::format("'{}'", text_value()); }
  std::string integer() { return fmt::format("{}", std::int64_t(random_.below(8)) - 3); }
  std::string literal(char type) {
    switch (type) {
      case 's': return literal_text();
      case 'u': return fmt::format("{}u", random_.below(6));
      case 'd': return fmt::format("{:.2f}", static_cast<double>(random_.below(9)) / 4);
      default: return fmt::format("{}", random_.below(6));
    }
  }
  std::string relation() {
    static constexpr std::array<std::string_view, 6> kRelations{"=", "!=", "<", "<=", ">", ">="};
    return std::string(kRelations[random_.below(6)]);
  }
  std::string descending() { return random_.one_in(2) ? " desc" : ""; }
  std::string limit() {
    const std::string limit = fmt::format(" limit {}", 1 + random_.below(40));
    return random_.one_in(3) ? fmt::format(" offset {}{}", random_.below(10), limit) : limit;
  }

  std::string number(int depth, char type) {
    if (depth <= 0) {
      if (random_.one_in(4)) return literal(type);
      if (type == 'u') return "u";
      if (type == 'd') return "d";
      return random_.one_in(3) ? "a" : random_.one_in(2) ? "n" : "v";
    }
    static constexpr std::array<std::string_view, 3> kAdds{"+", "-", "*"};
    const std::string_view add = kAdds[random_.below(3)];
    switch (random_.below(8)) {
      case 0:
        if (type == 'd') return "double(" + number(depth - 1, 'i') + ")";
        if (type == 'u') return "uint64(" + number(depth - 1, 'i') + ")";
        return "length(" + text(depth - 1) + ")";
      case 1: return choice(type, depth);
      case 2: return "(-" + number(depth - 1, type) + ")";
      case 3:
        if (type == 'd') return "(" + number(depth - 1, 'd') + " / " + literal('d') + ")";
        return "(" + number(depth - 1, type) + (random_.one_in(2) ? " % " : " / ") + literal(type) +
               ")";
      case 4: return "abs(" + number(depth - 1, type) + ")";
      case 5:
        if (type == 'i') return "timestamp_floor_hour(" + number(depth - 1, 'i') + ")";
        [[fallthrough]];
      default:
        return fmt::format("({} {} {})", number(depth - 1, type), add, number(depth - 1, type));
    }
  }

  std::string text(int depth) {
    if (depth <= 0) return random_.one_in(4) ? literal_text() : random_.one_in(2) ? "s" : "x";
    switch (random_.below(5)) {
      case 0: return "lower(" + text(depth - 1) + ")";
      case 1: return "concat(" + text(depth - 1) + ", " + text(depth - 1) + ")";
      case 2: return "numeric_to_string(" + number(depth - 1, 'i') + ")";
      case 3: return choice('s', depth);
      default: return text(0);
    }
  }
  std::string value(char type, int depth) {
    if (type == 's') return text(depth);
    if (type == 'b') return boolean(depth);
    return number(depth, type);
  }
  std::string choice(const char* type, int depth) { return choice(type[0], depth); }
  std::string choice(char type, int depth) {
    const std::string a = value(type, depth - 1);
    const std::string b = value(type, depth - 1);
    switch (random_.below(5)) {
      case 0: return fmt::format("if({}, {}, {})", boolean(depth - 1), a, b);
      case 1: return fmt::format("if_null({}, {})", a, b);
      case 2: return fmt::format("case when {} then {} else {} end", boolean(depth - 1), a, b);
      case 3:
        return fmt::format("case {} when {} then {} when 2 then {} end", number(1, 'i'), integer(),
                           a, b);
      default:
        return type == 'b' || type == 'u'
                   ? a
                   : fmt::format("transform({}, (1, 2, 3), ({}, {}, {}), {})", number(1, 'i'),
                                 literal(type), literal(type), literal(type), value(type, 0));
    }
  }
  std::string list_test(int depth) {
    const std::string negated = random_.one_in(3) ? "not " : "";
    const std::string i = number(depth - 1, 'i');
    switch (random_.below(6)) {
      case 0:
        return fmt::format("({} {}in ({}, {}, {}))", i, negated, integer(), integer(), integer());
      case 1: return fmt::format("({} {}in ({}, null))", i, negated, integer());
      case 2:
        return fmt::format("({} {}in ({}, {}))", text(depth - 1), negated, literal_text(),
                           literal_text());
      case 3:
        return fmt::format("((v, x) {}in ((1, 'a'), ({}, {}), (null, 'b')))", negated, integer(),
                           literal_text());
      case 4: return fmt::format("(a {}between {} and {})", negated, integer(), integer());
      default: return fmt::format("({} {}between {} and {})", i, negated, integer(), integer());
    }
  }
  std::string text_test(int depth) {
    static constexpr std::array<std::string_view, 8> kPatterns{"a%",  "%b", "%b%", "ab",
                                                               "_b%", "%é", "%%",  "a%b"};
    const std::string text = this->text(depth - 1);
    const std::string_view pattern = kPatterns[random_.below(kPatterns.size())];
    switch (random_.below(6)) {
      case 0: return fmt::format("is_substr({}, {})", literal_text(), text);
      case 1: return fmt::format("is_prefix({}, {})", literal_text(), text);
      case 2: return fmt::format("({} ilike '{}')", text, pattern);
      case 3: return fmt::format("regex_partial_match('^a.', {})", text);
      case 4: return fmt::format("({} rlike 'a.*')", text);
      default:
        return fmt::format("({} {}like '{}')", text, random_.one_in(3) ? "not " : "", pattern);
    }
  }

  Text grouped(const std::string& from, const std::string& where) {
    const bool one = random_.one_in(4);
    std::string keys = one ? "1 as k" : any(2) + " as k";
    if (!one && random_.one_in(2)) keys += ", " + any(1) + " as l";
    const bool two = keys.ends_with(" as l");
    std::string columns = two ? "k, l" : "k";
    static constexpr std::array<std::string_view, 13> kAggregates{"sum({})",
                                                                  "avg({})",
                                                                  "min({})",
                                                                  "max({})",
                                                                  "uniq({})",
                                                                  "first({})",
                                                                  "argmin({}, n)",
                                                                  "argmax({}, d)",
                                                                  "array_agg({}, f)",
                                                                  "sum(1)",
                                                                  "hll_7({})",
                                                                  "uniq_state({}, n)",
                                                                  "cardinality_state({})"};
    for (int i = 0; i < 3; ++i) {
      const std::size_t which = random_.below(kAggregates.size());
      const bool numbers = which < 2;
      const std::string argument = numbers   ? number(1, random_.one_in(2) ? 'i' : 'd')
                                   : joined_ ? "n"
                                             : any(1);
      // What a join finds first is not said.
      const std::string_view call =
          joined_ && which >= 5 && which < 9 ? "sum(n + 0 * length({}))" : kAggregates[which];
      columns += fmt::format(
          ", {} as g{}",
          fmt::format(fmt::runtime(call), call.starts_with("sum(n") ? std::string("s") : argument),
          i);
    }
    std::string rest = " group by " + keys;
    if (random_.one_in(5))
      rest += " having sum(n) > 50";
    else if (random_.one_in(6))
      rest += " with totals";
    if (random_.one_in(3)) {
      return {columns + " from " + from + where + rest + " order by k" + descending() +
                  (two ? ", l" : "") + limit(),
              true};
    }
    return {columns + " from " + from + where + rest, false};
  }

  SeededRandom random_;
  bool joined_ = false;
};

}  // namespace moraine::query
