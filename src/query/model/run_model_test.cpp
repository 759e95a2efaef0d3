// Random conditions in whole queries: results do not depend on ranges, a condition splits the rows
// into those where it is true, false and null, and counting by if() is counting by WHERE.

#include <algorithm>

#include "io/random.h"
#include "query/model/test_run.h"
#include "query/plan/test_tables.h"

namespace moraine::query {
namespace {

const Schemas& schemas() {
  static const Schemas all = {
      {"//t", make_schema({{.name = "a", .type = ColumnType::kInt64, .key = true},
                           {.name = "s", .type = ColumnType::kString, .key = true},
                           {.name = "v", .type = ColumnType::kInt64},
                           {.name = "f", .type = ColumnType::kBoolean}})},
      {"//r", make_schema({{.name = "v", .type = ColumnType::kInt64, .key = true},
                           {.name = "w", .type = ColumnType::kInt64}})}};
  return all;
}

TableRows random_tables(SeededRandom& random) {
  const Value ints[] = {Value(), -1, 0, 1, 2};
  const Value texts[] = {Value(), "", "a", "ab", "b"};
  TableRows rows;
  rows["//t"];
  rows["//r"];
  for (const Value& a : ints) {
    for (const Value& s : texts) {
      if (random.one_in(3)) continue;
      const Value flag = random.one_in(3) ? Value() : Value(random.one_in(2));
      rows["//t"].push_back({a, s, ints[random.below(5)], flag});
    }
    if (random.one_in(2)) rows["//r"].push_back({a, ints[random.below(5)]});
  }
  return rows;
}

std::string random_condition(SeededRandom& random, int depth) {
  const auto integer = [&] {
    static constexpr std::string_view kInts[] = {"null", "-1", "0", "1", "2"};
    return std::string(kInts[random.below(5)]);
  };
  if (depth > 0 && !random.one_in(4)) {
    const std::string left = random_condition(random, depth - 1);
    if (random.one_in(4)) return "(not (" + left + "))";
    return "((" + left + (random.one_in(2) ? ") and (" : ") or (") +
           random_condition(random, depth - 1) + "))";
  }
  const std::string column = random.one_in(3) ? "v" : "a";
  static constexpr std::string_view kRelations[] = {"=", "!=", "<", "<=", ">", ">="};
  const std::string relation(kRelations[random.below(6)]);
  switch (random.below(9)) {
    case 0: return "f";
    case 1: return column + " in (" + integer() + ", " + integer() + ")";
    case 2: return "(a, s) " + relation + " (" + integer() + ", 'a')";
    case 3: return column + " between " + integer() + " and " + integer();
    case 4: return "is_prefix('a', s)";
    case 5: return "s like '%b'";
    case 6: return "if(f, a = 1, v = 1)";
    case 7: return "(a, v) not in ((1, 1), (" + integer() + ", 0))";
    default: return column + " " + relation + " " + integer();
  }
}

class Queries {
 public:
  explicit Queries(std::uint64_t seed) : random(seed), tables(random_tables(random)) {}

  std::vector<Row> rows(const std::string& text, const RunOptions& options = {}) {
    auto plan = plan_query(text, schemas());
    EXPECT_TRUE(plan) << text << ": " << plan.error().context;
    if (!plan) return {};
    add_ranges(*plan);
    auto result = run_plan(*plan, tables, options);
    EXPECT_TRUE(result) << text << ": " << result.error().context;
    if (!result) return {};
    keep_.push_back({std::move(*plan), result->texts});
    return std::move(result->rows);
  }

  SeededRandom random;
  TableRows tables;

 private:
  std::vector<std::pair<Plan, std::shared_ptr<table::TextMemory>>> keep_;
};

std::string sorted_text(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const Row& row : rows) lines.push_back(text_of(std::vector<Row>{row}));
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

constexpr std::uint64_t kSeeds = 400;

TEST(QueryRunModel, RangesChangeNothing) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Queries queries(seed);
    const std::string p = random_condition(queries.random, 3);
    for (const std::string& text :
         {"* from [//t] where " + p, "a, s, w from [//t] left join [//r] using v where " + p,
          "f, sum(v) as x from [//t] where " + p + " group by f",
          "a, s from [//t] where " + p + " order by v, a, s limit 5"}) {
      ASSERT_EQ(text_of(queries.rows(text)), text_of(queries.rows(text, {.use_ranges = false})))
          << "seed " << seed << ": " << text;
    }
  }
}

TEST(QueryRunModel, AConditionSplitsTheRowsInThree) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Queries queries(seed);
    const std::string p = random_condition(queries.random, 3);
    for (const std::string& from :
         {std::string("* from [//t]"), std::string("* from [//t] join [//r] using v")}) {
      std::vector<Row> parts;
      for (const std::string& part : {p, "not (" + p + ")", "is_null(" + p + ")"}) {
        for (Row& row : queries.rows(from + " where " + part)) parts.push_back(std::move(row));
      }
      ASSERT_EQ(sorted_text(parts), sorted_text(queries.rows(from)))
          << "seed " << seed << ": " << p;
    }
  }
}

TEST(QueryRunModel, CountingByIfIsCountingByWhere) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Queries queries(seed);
    const std::string p = random_condition(queries.random, 3);
    const auto counted =
        queries.rows("sum(if(if_null(" + p + ", false), 1, 0)) from [//t] group by 1");
    const auto filtered = queries.rows("a from [//t] where " + p);
    ASSERT_EQ(counted.empty() ? 0 : counted[0][0].as_int64(),
              static_cast<std::int64_t>(filtered.size()))
        << "seed " << seed << ": " << p;
  }
}

TEST(QueryRunModel, AStricterConditionReadsNoMoreRows) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Queries queries(seed);
    const std::string p = random_condition(queries.random, 2);
    const std::string q = random_condition(queries.random, 2);
    const auto read = [&](const std::string& condition) {
      auto plan = plan_query("a from [//t] where " + condition, schemas());
      EXPECT_TRUE(plan) << condition << plan.error().context;
      add_ranges(*plan);
      const auto result = run_plan(*plan, queries.tables);
      EXPECT_TRUE(result) << condition;
      return result ? result->rows_read : 0;
    };
    ASSERT_LE(read("(" + p + ") and (" + q + ")"), read(p))
        << "seed " << seed << ": " << p << " and " << q;
  }
}

}  // namespace
}  // namespace moraine::query
