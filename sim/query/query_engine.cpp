#include "sim/query/query_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "query/ranges/infer.h"
#include "sim/query/json_values.h"
#include "sim/query/term.h"

namespace moraine::sim {
namespace {

using query::Row;
using query::Totals;

constexpr std::size_t kRowsShown = 12;
// Of a number of distinct values.
constexpr double kCardinalityError = 0.05;
constexpr double kCardinalityOff = 2;

class ModelEngine final : public QueryEngine {
 public:
  ModelEngine(const QueryTables& tables, bool use_ranges)
      : schemas_(tables.schemas()), rows_(tables.rows()), use_ranges_(use_ranges) {}

  std::string name() const override {
    return use_ranges_ ? "the model with ranges" : "the model without ranges";
  }
  Result<QueryAnswer> run(const QueryCase& query) override {
    TRY(auto plan, query::plan_query(query.yt(), schemas_, bind_options(query)));
    query::add_ranges(plan);
    TRY(auto result, query::run_plan(plan, rows_, {.use_ranges = use_ranges_}));
    QueryAnswer answer;
    for (const query::PlanColumn& column : result.columns) answer.types.push_back(column.type);
    answer.rows = std::move(result.rows);
    answer.memory = std::make_shared<std::pair<query::Plan, std::shared_ptr<table::TextMemory>>>(
        std::move(plan), std::move(result.texts));
    return answer;
  }

 private:
  const query::Schemas schemas_;
  const query::TableRows rows_;
  const bool use_ranges_;
};

bool row_less(const Row& a, const Row& b) {
  return std::ranges::lexicographical_compare(
      a, b, [](const Value& x, const Value& y) { return compare(x, y) < 0; });
}

bool close_cells(const Value& a, const Value& b) {
  if (a.type() != ValueType::kUint64 || b.type() != ValueType::kUint64) return a == b;
  const auto x = static_cast<double>(a.as_uint64());
  const auto y = static_cast<double>(b.as_uint64());
  return std::abs(x - y) <= std::max(kCardinalityOff, kCardinalityError * std::max(x, y));
}

bool same_row(const Row& a, const Row& b, bool approximate) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = approximate && i == 0 ? close_cells(a[i], b[i]) : a[i] == b[i];
    if (!same) return false;
  }
  return a.size() == b.size();
}

// Sets: sorted by all columns, an approximate one last.
void sort_rows(std::vector<Row>& rows, bool approximate) {
  std::ranges::sort(rows, [&](const Row& a, const Row& b) {
    if (!approximate) return row_less(a, b);
    const Row left(a.begin() + 1, a.end());
    const Row right(b.begin() + 1, b.end());
    if (row_less(left, right) || row_less(right, left)) return row_less(left, right);
    return compare(a[0], b[0]) < 0;
  });
}

}  // namespace

std::unique_ptr<QueryEngine> model_engine(const QueryTables& tables, bool use_ranges) {
  return std::make_unique<ModelEngine>(tables, use_ranges);
}

query::BindOptions bind_options(const QueryCase& query) {
  return {.syntax_version = query.dialect.syntax_version,
          .expression_builder_version = query.dialect.expression_builder_version,
          .canonical_null_relations = query.dialect.canonical_nulls,
          .placeholders = &query.placeholders};
}

std::string rows_text(const std::vector<Row>& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kRowsShown; ++i) {
    out += "    {";
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      const Value& value = rows[i][c];
      out += c > 0 ? ", " : "";
      out += value.type() == ValueType::kAny ? json_of(value.text()) : yt_literal(value);
    }
    out += "}\n";
  }
  if (rows.size() > kRowsShown) out += fmt::format("    ... of {} rows\n", rows.size());
  return out;
}

std::optional<std::string> compare_answers(const QueryCase& query,
                                           const Result<QueryAnswer>& answer, Sqlite& sqlite) {
  if (!answer) return "fails: " + answer.error().context;
  table::TextMemory texts;
  const std::string sql = query.sql();
  auto wanted = sqlite.run(sql, answer->types, texts);
  if (!wanted) return wanted.error().context;
  std::vector<Row> got = answer->rows;
  for (Row& row : got) {
    for (Value& value : row) value = normalized(value, texts);
  }
  if (query.totals != Totals::kNone) {
    const auto totals = sqlite.run(query.totals_sql(), answer->types, texts);
    if (!totals) return totals.error().context;
    const bool first = !query.order_by.empty();
    wanted->insert(first ? wanted->begin() : wanted->end(), totals->begin(), totals->end());
    // The one row whose place is always determined.
    const bool misplaced =
        !totals->empty() && !got.empty() &&
        !same_row(first ? got.front() : got.back(), (*totals)[0], query.approximate);
    if (misplaced) {
      return fmt::format("the row of totals is\n{}  not\n{}  sql: {}",
                         rows_text({first ? got.front() : got.back()}), rows_text(*totals),
                         query.totals_sql());
    }
  }
  if (!query.ordered) {
    sort_rows(got, query.approximate);
    sort_rows(*wanted, query.approximate);
  }
  const bool same = std::ranges::equal(
      got, *wanted, [&](const Row& a, const Row& b) { return same_row(a, b, query.approximate); });
  if (same) return std::nullopt;
  return fmt::format("has {} rows\n{}  SQLite has {}\n{}  sql: {}", got.size(), rows_text(got),
                     wanted->size(), rows_text(*wanted), sql);
}

}  // namespace moraine::sim
