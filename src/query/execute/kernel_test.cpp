// Kernels against the evaluator of one row.

#include "query/execute/kernel.h"

#include <gtest/gtest.h>

#include "query/execute/random_query.h"
#include "query/execute/row_store.h"
#include "query/model/test_run.h"
#include "query/plan/evaluate.h"
#include "query/syntax/parse.h"

namespace moraine::query {
namespace {

struct Table {
  std::vector<PlanColumn> columns;
  std::vector<Row> rows;
  RowStore store;
};

Table random_table(RandomQuery& random) {
  Table table;
  for (const ColumnSchema& column : random_schemas().at("//t")->columns) {
    table.columns.push_back({.name = column.name, .type = physical_type(column.type)});
  }
  table.rows = random.tables(200)["//t"];
  std::vector<ValueType> types;
  for (const PlanColumn& column : table.columns) types.push_back(column.type);
  table.store = RowStore(types);
  for (const Row& row : table.rows) table.store.append_value_row(row);
  return table;
}

// The same rows, with texts as codes of tables.
class Coded {
 public:
  Coded(Batch batch, std::size_t rows) : batch(std::move(batch)) {
    for (Column& column : this->batch.columns) {
      if (!is_text(column.type)) continue;
      auto& table = tables_.emplace_back();
      auto& codes = codes_.emplace_back(rows);
      for (std::size_t i = 0; i < rows; ++i) {
        const std::string_view text = column.is_null(i) ? "" : column.text(i);
        const auto found = std::ranges::find(table, text);
        codes[i] = static_cast<std::uint32_t>(found - table.begin());
        if (found == table.end()) table.push_back(text);
      }
    }
    std::size_t next = 0;
    for (Column& column : this->batch.columns) {
      if (!is_text(column.type)) continue;
      column.texts = tables_[next].data();
      column.codes = codes_[next].data();
      column.table_size = static_cast<std::uint32_t>(tables_[next].size());
      column.table_id = new_table_id();
      ++next;
    }
  }
  Batch batch;

 private:
  std::vector<std::vector<std::string_view>> tables_;
  std::vector<std::vector<std::uint32_t>> codes_;
};

// Every second or third row, or all.
std::vector<std::uint32_t> some_rows(std::size_t count, std::size_t step) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; i += step) rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

class Checked {
 public:
  explicit Checked(std::uint64_t seed) : random(seed), table(random_table(random)) {}

  // False: it does not bind.
  bool check(const std::string& text, const BindOptions& options, std::size_t step) {
    const auto node = parse_expression(text);
    EXPECT_TRUE(node) << text;
    table::TextMemory texts;
    const auto bound = bind_expression(*node, text, table.columns, texts, options);
    if (!bound) return false;
    const KernelPtr kernel = compile(*bound);
    const Batch batch = table.store.view(0, table.rows.size());
    const std::vector<std::uint32_t> rows = some_rows(table.rows.size(), step);
    const Selection selection = step == 1 ? Selection::all(batch.rows)
                                          : Selection{.rows = rows.data(), .count = rows.size()};
    compare(text, *bound, *kernel, batch, selection);
    const Coded coded(batch, batch.rows);
    compare(text, *bound, *kernel, coded.batch, selection);
    return true;
  }

  RandomQuery random;
  Table table;

 private:
  void compare(const std::string& text, const Expression& bound, Kernel& kernel, const Batch& batch,
               const Selection& rows) {
    table::TextMemory memory;
    std::vector<Value> expected;
    std::vector<std::uint32_t> passing;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const auto value = evaluate(bound, table.rows[rows[i]], memory);
      if (!value) {
        EXPECT_FALSE(kernel.eval(batch, rows)) << text << " hides " << value.error().context;
        return;
      }
      expected.push_back(*value);
      if (value->type() == ValueType::kBoolean && value->as_boolean()) passing.push_back(rows[i]);
    }
    const auto column = kernel.eval(batch, rows);
    ASSERT_TRUE(column) << text << ": " << column.error().context;
    for (std::size_t i = 0; i < rows.count; ++i) {
      ASSERT_EQ(text_of(column->value(rows[i])), text_of(expected[i]))
          << text << " of row " << rows[i] << " " << text_of({table.rows[rows[i]]});
    }
    if (bound.type != ValueType::kBoolean) return;
    std::vector<std::uint32_t> kept(kVectorRows);
    const auto count = kernel.filter(batch, rows, kept.data());
    ASSERT_TRUE(count) << text;
    kept.resize(*count);
    ASSERT_EQ(kept, passing) << text;
  }
};

TEST(Kernel, EqualsTheEvaluatorOfRows) {
  std::size_t bound = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Checked checked(seed);
    for (int i = 0; i < 60; ++i) {
      const std::string text = i % 2 == 0 ? checked.random.any(4) : checked.random.boolean(4);
      BindOptions options{.expression_builder_version = 2,
                          .canonical_null_relations = seed % 3 == 0};
      for (const std::size_t step : {1, 3}) {
        bound += checked.check(text, options, step) ? 1 : 0;
        ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(bound, 5'000U);
}

TEST(Kernel, LikeFindsAPartAtEveryPlace) {
  const std::vector<PlanColumn> columns{{.name = "s", .type = ValueType::kString}};
  for (const std::string part : {"x", "xy", "xay", "xabcay", "xa part of many wordsy"}) {
    std::vector<std::string> texts;
    for (std::size_t size = 0; size <= 70; ++size) {
      texts.emplace_back(size, 'a');
      for (std::size_t at = 0; at + part.size() <= size; ++at) {
        texts.emplace_back(size, 'a').replace(at, part.size(), part);
        // Only its ends are those of the part.
        std::string& close = texts.emplace_back(size, 'a');
        close[at] = part.front();
        close[at + part.size() - 1] = part.back();
      }
    }
    const std::string text = "s like '%" + part + "%'";
    table::TextMemory memory;
    const auto bound = bind_expression(*parse_expression(text), text, columns, memory, {});
    ASSERT_TRUE(bound) << text;
    const KernelPtr kernel = compile(*bound);
    std::vector<std::string_view> views(texts.begin(), texts.end());
    for (std::size_t first = 0; first < views.size(); first += kVectorRows) {
      const std::size_t rows = std::min(kVectorRows, views.size() - first);
      const Batch batch{.rows = rows,
                        .columns = {{.type = ValueType::kString, .texts = views.data() + first}}};
      const auto found = kernel->eval(batch, Selection::all(rows));
      ASSERT_TRUE(found) << text;
      for (std::size_t i = 0; i < rows; ++i) {
        const auto expected = evaluate(*bound, Row{Value(views[first + i])}, memory);
        ASSERT_EQ(found->value(i), *expected) << text << ": " << views[first + i];
      }
    }
  }
}

TEST(Kernel, OperandsThatAreNotNeededDoNotFail) {
  Checked checked(1);
  for (const char* text :
       {"if(n < 1000, 1, 1 / 0)", "n < 1000 or 1 / (n - n) = 1", "n > 1000 and n / (n - n) = 1",
        "case when true then n else n / 0 end", "if_null(n, n / 0)"}) {
    EXPECT_TRUE(checked.check(text, {}, 1)) << text;
  }
}

}  // namespace
}  // namespace moraine::query
