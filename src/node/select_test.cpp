// Queries over the tables of a node, compared with the model that runs plans on rows in memory.

#include "client/select.h"

#include <gtest/gtest.h>

#include "client/lane_tables.h"
#include "client/table_changes.h"
#include "node/test_node.h"
#include "query/execute/random_query.h"
#include "query/model/test_run.h"
#include "query/ranges/infer.h"

namespace moraine {
namespace {

using client::SelectOptions;
using query::RandomQuery;
using query::Row;

constexpr std::size_t kLanes = 3;

// Which of -0.0 and 0.0 a group has is not said.
Value without_sign_of_zero(const Value& value) {
  return value.type() == ValueType::kDouble && value.as_double() == 0 ? Value(0.0) : value;
}
std::string text_of(Row row) {
  for (Value& value : row) value = without_sign_of_zero(value);
  return query::text_of(std::vector<Row>{row});
}
std::string texts_of(const YsonNode& list) {
  std::string all;
  for (const YsonNode& item : *list.as<YsonList>()) {
    all += (all.empty() ? "" : "; ") + *item.as<std::string>();
  }
  return all;
}

class Select : public testing::Test {
 protected:
  Select()
      : tables_(node_.node().tables().tables(), node_.lane(0)),
        client_(node_.lane(0), tables_, node_.node().tables()) {}

  template <class T>
  T run(std::function<Task<T>()> body) {
    return node_.on_lane<T>(1, std::move(body));
  }
  void create(const std::string& path, std::vector<std::int64_t> pivots, bool scan_format) {
    const auto made = run<Result<void>>([&] {
      NewTable table;
      table.schema = *query::random_schemas().at(path);
      table.options.optimize_for = scan_format ? OptimizeFor::kScan : OptimizeFor::kLookup;
      std::vector<std::vector<Value>> keys;
      for (const std::int64_t pivot : pivots) keys.push_back({Value(pivot)});
      return client::create_table(tables_, scheme_path(path), std::move(table), std::move(keys));
    });
    ASSERT_TRUE(made) << made.error().message();
  }
  Task<Result<void>> write_rows(std::string path, std::span<const Row> rows) {
    CO_TRY(const client::Table table, client_.open(path));
    CO_TRY(client::Transaction transaction, co_await client_.begin({}, random_));
    for (const Row& row : rows) {
      std::vector<NamedValue> cells;
      for (std::size_t i = 0; i < row.size(); ++i) {
        cells.emplace_back(table.schema->columns[i].name, row[i]);
      }
      CO_TRY_VOID(transaction.insert(table, cells, {}));
    }
    const auto done = co_await transaction.commit();
    if (!done) co_return std::unexpected(done.error());
    co_return Result<void>();
  }
  // In several transactions, with a flush after some.
  void fill(const std::string& path, const std::vector<Row>& rows, std::size_t flushes) {
    const std::size_t step = rows.size() / (flushes + 1) + 1;
    for (std::size_t first = 0; first < rows.size(); first += step) {
      const auto part = std::span(rows).subspan(first, std::min(step, rows.size() - first));
      const auto written = run<Result<void>>([&] { return write_rows(path, part); });
      ASSERT_TRUE(written) << written.error().message();
      if (first + step >= rows.size()) break;
      const auto flushed =
          run<Result<void>>([&] { return client::flush_table(tables_, scheme_path(path)); });
      ASSERT_TRUE(flushed) << flushed.error().message();
    }
  }

  Task<Result<std::vector<std::string>>> read(std::string text, SelectOptions options) {
    CO_TRY(const auto selection, co_await client::select(client_, text, std::move(options)));
    std::vector<std::string> rows;
    ScanBatch batch;
    for (;;) {
      CO_TRY(const bool more, co_await selection->next(batch));
      if (!more) break;
      for (std::size_t i = 0; i < batch.rows; ++i) {
        Row row;
        for (const ScanBatch::Column& column : batch.columns) row.push_back(column.at(i));
        rows.push_back(text_of(row));
      }
    }
    statistics_ = selection->statistics();
    co_return rows;
  }
  Result<std::vector<std::string>> select(const std::string& text, SelectOptions options = {}) {
    return run<Result<std::vector<std::string>>>([&] { return read(text, std::move(options)); });
  }
  std::string one(const std::string& text, SelectOptions options = {}) {
    const auto rows = select(text, std::move(options));
    if (!rows) return rows.error().context;
    std::string all;
    for (const std::string& row : *rows) all += row;
    return all;
  }

  TestNode node_{kLanes};
  SeededRandom random_{1};
  LaneTables tables_;
  client::TableClient client_;
  client::SelectStatistics statistics_;
};

Result<std::vector<std::string>> by_model(const std::string& text, const query::TableRows& tables,
                                          const query::BindOptions& options) {
  TRY(query::Plan plan, query::plan_query(text, query::random_schemas(), options));
  query::add_ranges(plan);
  TRY(const query::Rowset result, query::run_plan(plan, tables));
  std::vector<std::string> rows;
  for (const Row& row : result.rows) rows.push_back(text_of(row));
  return rows;
}

std::string joined(std::vector<std::string> rows, bool sorted) {
  if (!sorted) std::ranges::sort(rows);
  std::string all;
  for (const std::string& row : rows) all += row + "\n";
  return all;
}

TEST_F(Select, RandomQueriesEqualTheModel) {
  std::size_t answered = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomQuery random(seed);
    const query::TableRows rows = random.tables(60 + 100 * seed);
    create("//t",
           seed % 2 == 0 ? std::vector<std::int64_t>{0, 10, 20} : std::vector<std::int64_t>(),
           seed % 3 != 0);
    create("//r", {}, seed % 3 == 0);
    fill("//t", rows.at("//t"), seed % 4);
    fill("//r", rows.at("//r"), seed % 2);
    for (int i = 0; i < 150; ++i) {
      const RandomQuery::Text query = random.query();
      SelectOptions options;
      options.bind = {.expression_builder_version = 2, .canonical_null_relations = i % 5 == 0};
      options.bind.allow_join_without_index = true;
      const auto expected = by_model(query.text, rows, options.bind);
      if (!expected) continue;  // An error of a row that may not be computed here.
      options.pushdown = i % 3 != 0;
      options.lanes_max = 1 + static_cast<std::size_t>(i) % 3;
      const auto actual = select(query.text, options);
      ASSERT_TRUE(actual) << query.text << ": " << actual.error().context;
      ASSERT_EQ(joined(*actual, query.sorted), joined(*expected, query.sorted))
          << "seed " << seed << ", query " << i << ": " << query.text;
      ++answered;
    }
    for (const char* path : {"t", "r"}) {
      const auto removed = run<Result<void>>([&] { return tables_.remove(path); });
      ASSERT_TRUE(removed) << removed.error().message();
    }
  }
  EXPECT_GT(answered, 500U);
}

TEST_F(Select, Limits) {
  RandomQuery random(3);
  const query::TableRows rows = random.tables(300);
  create("//t", {}, true);
  create("//r", {}, true);
  fill("//t", rows.at("//t"), 1);
  const std::size_t count = rows.at("//t").size();
  SelectOptions options;
  options.input_rows_max = 100;
  EXPECT_EQ(one("sum(1) from [//t] group by 1", options),
            "the query reads more than 100 rows (input_row_limit)");
  options.fail_on_incomplete_result = false;
  EXPECT_EQ(one("sum(1) from [//t] group by 1", options), "{100}");
  EXPECT_TRUE(statistics_.incomplete_input);
  options = {};
  options.output_rows_max = 10;
  EXPECT_EQ(one("a from [//t]", options), "the query returns more than 10 rows (output_row_limit)");
  options.fail_on_incomplete_result = false;
  EXPECT_EQ(select("a from [//t]", options)->size(), 10U);
  EXPECT_TRUE(statistics_.incomplete_output);
  options = {};
  options.memory_bytes_max = 4'096;
  EXPECT_EQ(one("a, s, sum(1) from [//t] group by a, s", options),
            "GROUP BY needs more memory than the query's limit of 4096 bytes");
  options = {};
  options.allow_full_scan = false;
  EXPECT_EQ(one("a from [//t]", options), "Primary table key is not used in the where clause");
  EXPECT_EQ(one("sum(1) from [//t] group by 1"), fmt::format("{{{}}}", count));
  EXPECT_EQ(statistics_.rows_read, count);
  EXPECT_TRUE(statistics_.full_scan);
  EXPECT_EQ(one("sum(1) from [//t] where a = 1 group by 1"), "{3}");
  EXPECT_EQ(statistics_.rows_read, 3U);
  EXPECT_FALSE(statistics_.full_scan);
}

TEST_F(Select, TimeAndCancellationEndAQuery) {
  RandomQuery random(3);
  create("//t", {}, true);
  fill("//t", random.tables(100).at("//t"), 0);
  SelectOptions options;
  options.timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(one("a from [//t]", options), "the time limit of the query has passed");
  const auto cancelled = run<Result<bool>>([&]() -> Task<Result<bool>> {
    CO_TRY(const auto selection, co_await client::select(client_, "a from [//t]", {}));
    selection->cancel();
    ScanBatch batch;
    co_return co_await selection->next(batch);
  });
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, Errc::kAborted);
}

TEST_F(Select, JoinsOfFewKeysReadThoseKeysOnly) {
  create("//t", {}, true);
  create("//r", {}, true);
  std::vector<Row> left;
  std::vector<Row> right;
  for (std::int64_t i = 0; i < 1'000; ++i) {
    left.push_back({i, "k", i, Value(), Value(), Value(), Value(), i});
    right.push_back({i, 1, "y"});
  }
  fill("//t", left, 0);
  fill("//r", right, 0);
  EXPECT_EQ(one("a, y from [//t] join [//r] using v where a in (5, 900)"), "{5,y}{900,y}");
  EXPECT_EQ(statistics_.rows_read, 6U);  // Two rows, twice: their keys are read first.
}

TEST_F(Select, RowsThatWereWrittenAgainCountOnce) {
  create("//t", {}, true);
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 30'000; ++i) {
    rows.push_back({i, "k", i % 7, Value(), Value(), Value(), "x", 1});
  }
  fill("//t", rows, 3);
  std::vector<Row> again;
  for (std::size_t i = 5; i < rows.size(); i += 10) again.push_back(rows[i]);
  fill("//t", again, 1);
  for (const std::size_t lanes : {1, 3}) {
    SelectOptions options;
    options.lanes_max = lanes;
    EXPECT_EQ(one("sum(1), sum(n), sum(a) from [//t] group by 1", options),
              "{30000,30000,449985000}");
    EXPECT_EQ(one("sum(1) from [//t] where v = 3 group by 1", options), "{4286}");
  }
}

TEST_F(Select, ExplainHasRangesFiltersAndFigures) {
  RandomQuery random(3);
  create("//t", {}, true);
  const std::vector<Row> rows = random.tables(300).at("//t");
  fill("//t", rows, 1);
  const auto explained = [&](bool analyze) {
    SelectOptions options;
    options.analyze = analyze;
    const std::string text =
        "s, sum(n) from [//t] where a between 1 and 50 and n < 40 and x = 'a' group by s";
    const auto plan =
        run<Result<YsonNode>>([&] { return client::explain(client_, text, options); });
    EXPECT_TRUE(plan) << plan.error().message();
    return plan ? *plan : YsonNode();
  };
  const YsonNode plan = explained(false);
  const YsonNode* query = plan.find("query");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(*query->find("ranges"), YsonNode(YsonList{YsonNode(YsonList{"[1]", "[50, <max>]"})}));
  EXPECT_EQ(texts_of(*query->find("pushed_filters")), "a in [1..50]; n in [null..40); x in \"a\"");
  EXPECT_EQ(plan.find("statistics"), nullptr);

  const YsonNode analyzed = explained(true);
  const YsonList& steps = *analyzed.find("query")->find("steps")->as<YsonList>();
  ASSERT_EQ(steps.size(), 4U);
  const auto passing = std::ranges::count_if(rows, [](const Row& row) {
    return row[0].as_int64() >= 1 && row[0].as_int64() <= 50 && row[7].as_int64() < 40 &&
           row[6] == Value("a");
  });
  // The reader tests the whole condition, so that the filter has nothing to do.
  EXPECT_EQ(steps[2].find("rows"), nullptr);
  ASSERT_NE(steps[3].find("rows"), nullptr);
  EXPECT_EQ(*steps[3].find("rows"), YsonNode(static_cast<std::uint64_t>(passing)));
  EXPECT_NE(analyzed.find("statistics"), nullptr);
}

TEST_F(Select, WhatIsWrongIsSaid) {
  EXPECT_EQ(select("* from [//none]").error().code, Errc::kNotFound);
  create("//t", {}, true);
  EXPECT_EQ(select("nothing from [//t]").error().code, Errc::kInvalidArgument);
  EXPECT_EQ(one("sum(1) from [//t] group by 1"), "");
}

}  // namespace
}  // namespace moraine
