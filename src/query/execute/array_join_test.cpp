// The step of ARRAY JOIN on batches, compared with the model.

#include <gtest/gtest.h>

#include "io/random.h"
#include "query/execute/flow.h"
#include "query/execute/stage.h"
#include "query/model/test_run.h"
#include "query/plan/test_tables.h"
#include "yson/yson.h"

namespace moraine::query {
namespace {

const Schemas& schemas() {
  static const Schemas all = {
      {"//t", make_schema({{.name = "k", .type = ColumnType::kInt64, .key = true},
                           {.name = "s", .type = ColumnType::kString},
                           {.name = "l",
                            .type = ColumnType::kAny,
                            .type_v3 = R"({"type_name"="list";"item"="int64";})"},
                           {.name = "m", .type = ColumnType::kAny}})}};
  return all;
}

// Lists of 0 to `longest` items.
TableRows random_rows(std::size_t count, std::size_t longest, std::uint64_t seed,
                      table::TextMemory& texts) {
  SeededRandom random(seed);
  const auto list = [&](bool mixed) -> Value {
    if (random.one_in(8)) return {};
    YsonList items;
    for (std::size_t left = random.below(longest + 1); left > 0; --left) {
      const auto number = static_cast<std::int64_t>(random.below(9));
      if (mixed && random.one_in(5)) {
        items.emplace_back();
      } else if (mixed && random.one_in(2)) {
        items.emplace_back("text " + std::to_string(number));
      } else {
        items.emplace_back(number);
      }
    }
    return Value::any(texts.keep(write_yson(YsonNode(std::move(items)), YsonFormat::kBinary)));
  };
  TableRows rows;
  for (std::size_t k = 0; k < count; ++k) {
    const Value text = random.one_in(4) ? Value() : Value(texts.keep(std::to_string(k % 7)));
    rows["//t"].push_back({static_cast<std::int64_t>(k), text, list(false), list(true)});
  }
  return rows;
}

// Checks the size of batches.
class Checked final : public Sink {
 public:
  explicit Checked(CollectSink& into) : into_(into) {}
  Result<void> take(const Batch& batch, const Selection& rows, std::uint64_t position) override {
    EXPECT_LE(batch.rows, kVectorRows);
    return into_.take(batch, rows, position);
  }
  std::size_t bytes() const override { return into_.bytes(); }
  bool needs_rows() const override { return into_.needs_rows(); }

 private:
  CollectSink& into_;
};

// The rows of a query without ends, through the executor.
std::string run_flow(const Plan& plan, const std::vector<Row>& table, std::uint64_t rows_max) {
  const std::vector<Stage> stages = stages_of(plan.root);
  EXPECT_EQ(stages.size(), 1);
  RowStore source(types_of(stages[0].source->columns));
  for (const Row& row : table) {
    Row values;
    for (const std::size_t column : stages[0].scan->columns) values.push_back(row[column]);
    source.append_value_row(values);
  }
  std::vector<FlowStep> steps;
  for (const PlanNode* node : stages[0].steps) steps.push_back({.node = node});
  CollectSink collected(types_of(plan.root.columns), rows_max);
  Checked sink(collected);
  Flow flow(steps, sink);
  for (std::size_t first = 0; first < source.rows(); first += 1'000) {
    const std::size_t count = std::min<std::size_t>(1'000, source.rows() - first);
    const auto done = flow.push(source.view(first, count), Selection::all(count), first);
    if (!done) return done.error().context;
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < collected.store.rows(); ++i) {
    Row row;
    for (std::size_t j = 0; j < collected.store.width(); ++j) {
      row.push_back(collected.store.value(j, i));
    }
    rows.push_back(std::move(row));
  }
  return text_of(rows);
}

void compare_with_model(std::string_view text, const TableRows& rows) {
  const auto plan = plan_query(text, schemas(), {});
  ASSERT_TRUE(plan) << text << ": " << plan.error().context;
  const auto expected = run_plan(*plan, rows);
  EXPECT_EQ(run_flow(*plan, rows.at("//t"), ~std::uint64_t{0}),
            expected ? text_of(expected->rows) : expected.error().context)
      << text;
}

constexpr std::string_view kQueries[] = {
    "k, s, x from [//t] array join l as x",
    "k, x from [//t] left array join l as x",
    "k, s, x, y from [//t] array join l as x, m as y",
    "k, s, x, y from [//t] left array join l as x, m as y",
    "k, x from [//t] array join l as x and x % 3 = 1",
    "k, x from [//t] left array join l as x and x % 3 = 1",
    "k, x from [//t] left array join l as x and x > 100",
    "k, x from [//t] left array join l as x and x > k % 9 where s > '2' and x != 5",
    "k, x, y from [//t] left array join l as x and x > 4 left array join m as y and y = x",
    "x || '!' as a from [//t] array join split('a,b', ',') as x",
};

TEST(ArrayJoin, EqualsTheModel) {
  table::TextMemory texts;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const TableRows rows = random_rows(2'500, 5, seed, texts);
    for (const std::string_view query : kQueries) compare_with_model(query, rows);
  }
}

TEST(ArrayJoin, ListsAreLongerThanABatch) {
  table::TextMemory texts;
  const TableRows rows = random_rows(12, 20'000, 7, texts);
  for (const std::string_view query : kQueries) {
    // Lists of both kinds for each item would be too many rows.
    const bool nested = query.find("array join m") != std::string_view::npos;
    if (!nested) compare_with_model(query, rows);
  }
}

TEST(ArrayJoin, EndsWhenNoMoreRowsAreNeeded) {
  table::TextMemory texts;
  const TableRows rows = random_rows(20, 20'000, 3, texts);
  const auto plan = plan_query(kQueries[0], schemas(), {});
  const std::string all = run_flow(*plan, rows.at("//t"), ~std::uint64_t{0});
  const std::string some = run_flow(*plan, rows.at("//t"), 10);
  EXPECT_EQ(std::ranges::count(some, '{'), 10);
  EXPECT_TRUE(all.starts_with(some));
}

TEST(ArrayJoin, ErrorsAreThoseOfTheModel) {
  const TableRows rows = {{"//t", {{1, "a", Value(), Value::any("{a=1}")}}}};
  compare_with_model("k, x from [//t] array join m as x", rows);
}

}  // namespace
}  // namespace moraine::query
