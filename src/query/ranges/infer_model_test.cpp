// Random conditions against every row of small tables: a row that passes lies in a range, and with
// an exact set of ranges a row in a range passes.

#include <gtest/gtest.h>

#include <limits>

#include "expression/expression.h"
#include "io/random.h"
#include "query/plan/bind.h"
#include "query/plan/evaluate.h"
#include "query/ranges/infer.h"

namespace moraine::query {
namespace {

constexpr std::string_view kInts[] = {"null", "-3", "0", "1", "2", "9223372036854775807"};
constexpr std::string_view kTexts[] = {"null", "''", "'a'", "'ab'", "'b'", "'\\xff'"};

class RandomCondition {
 public:
  RandomCondition(SeededRandom& random, bool hash_column)
      : random_(random), hash_column_(hash_column) {}

  std::string make(int depth) {
    if (depth == 0 || random_.one_in(4)) return leaf();
    switch (random_.below(4)) {
      case 0: return "(not (" + make(depth - 1) + "))";
      case 1: return "(" + make(depth - 1) + " or " + make(depth - 1) + ")";
      default: return "(" + make(depth - 1) + " and " + make(depth - 1) + ")";
    }
  }

 private:
  std::string pick(std::span<const std::string_view> from) {
    return std::string(from[random_.below(from.size())]);
  }
  std::string integer() { return pick(kInts); }
  std::string text() { return pick(kTexts); }
  std::string column() {
    static constexpr std::string_view kColumns[] = {"a", "a", "b", "b", "v"};
    return pick(kColumns);
  }
  std::string relation() {
    static constexpr std::string_view kRelations[] = {"=", "=", "=", "!=", "<", "<=", ">", ">="};
    return " " + pick(kRelations) + " ";
  }
  std::string list(std::size_t width) {
    std::string out;
    for (std::size_t count = random_.below(4); count > 0; --count) {
      out += (out.empty() ? "" : ", ") + tuple(width);
    }
    return "(" + out + ")";
  }
  std::string tuple(std::size_t width) {
    if (width == 1) return integer();
    return "(" + integer() + ", " + integer() + ")";
  }
  std::string leaf() {
    const std::string no = random_.one_in(3) ? " not" : "";
    switch (random_.below(12)) {
      case 0: return "s" + relation() + text();
      case 1: return "(" + column() + ", s)" + relation() + "(" + integer() + ", " + text() + ")";
      case 2: return column() + no + " in " + list(1);
      case 3: return "(" + column() + ", " + column() + ")" + no + " in " + list(2);
      case 4: return column() + no + " between " + integer() + " and " + integer();
      case 5:
        return "(a, b)" + no + " between (" + integer() + " and " + tuple(2) + ", " + tuple(2) +
               " and " + integer() + ")";
      case 6: return "is_null(" + column() + ")";
      case 7: return "is_prefix(" + text() + ", s)";
      case 8: return random_.one_in(2) ? "s like 'a%'" : "s like 'a'";
      case 9:
        if (hash_column_) return "h" + relation() + std::to_string(random_.below(4)) + "u";
        return integer() + relation() + column();
      case 10: return "(a, b)" + relation() + tuple(2);
      default: return column() + relation() + integer();
    }
  }

  SeededRandom& random_;
  const bool hash_column_;
};

struct Table {
  TableSchema schema;
  std::vector<PlanColumn> columns;
  std::vector<std::size_t> positions;
  std::vector<std::vector<Value>> rows;
};

// Every row over small domains; computed columns as a table computes them.
Table make_table(std::string_view hash, bool hash_first) {
  Table table;
  const ColumnSchema computed{
      .name = "h", .type = ColumnType::kUint64, .key = true, .expression = std::string(hash)};
  auto& columns = table.schema.columns;
  columns = {{.name = "a", .type = ColumnType::kInt64, .key = true},
             {.name = "b", .type = ColumnType::kInt64, .key = true},
             {.name = "s", .type = ColumnType::kString, .key = true},
             {.name = "v", .type = ColumnType::kInt64}};
  if (!hash.empty()) columns.insert(columns.begin() + (hash_first ? 0 : 1), computed);
  for (const ColumnSchema& column : columns) {
    table.positions.push_back(table.columns.size());
    table.columns.push_back({.name = column.name, .type = physical_type(column.type)});
  }
  const std::size_t h = table.schema.find("h").value_or(columns.size());
  const std::vector<Value> ints = {Value(), -3, -1, 0,
                                   1,       2,  5,  std::numeric_limits<std::int64_t>::max()};
  const std::vector<Value> texts = {Value(), "", "a", "aa", "ab", "b", "\xff\xff"};
  for (const Value& a : ints) {
    for (const Value& b : ints) {
      for (const Value& s : texts) {
        std::vector<Value> row = {a, b, s, b.is_null() ? Value(1) : a};
        if (!hash.empty()) row.insert(row.begin() + (hash_first ? 0 : 1), Value());
        if (h < row.size()) {
          const auto value = compile_expression(hash, table.schema)->evaluate(row);
          EXPECT_TRUE(value);
          row[h] = *value;
        }
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

bool covers(const RangeSet& set, const std::string& key) {
  for (const KeyRange& range : set.ranges) {
    const table::KeyBounds bounds = encode_range(range);
    if (bounds.from <= key && (bounds.to.empty() || key < bounds.to)) return true;
  }
  return false;
}

void check_sorted(const RangeSet& set) {
  for (std::size_t i = 0; i < set.ranges.size(); ++i) {
    const table::KeyBounds bounds = encode_range(set.ranges[i]);
    ASSERT_TRUE(bounds.to.empty() || bounds.from < bounds.to);
    if (i + 1 < set.ranges.size()) {
      ASSERT_FALSE(bounds.to.empty());
      ASSERT_LT(bounds.to, encode_range(set.ranges[i + 1]).from);
    }
  }
}

void check_condition(const Table& table, const std::string& condition, const BindOptions& options) {
  table::TextMemory texts;
  const auto node = parse_expression(condition);
  ASSERT_TRUE(node) << condition << node.error().context;
  const auto predicate = bind_expression(*node, condition, table.columns, texts, options);
  ASSERT_TRUE(predicate) << condition << predicate.error().context;
  const std::size_t keys = table.schema.key_count();
  for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, std::size_t{10}, kRangesMax}) {
    const RangeSet set = infer_ranges(*predicate, table.positions, table.schema, texts, limit);
    ASSERT_LE(set.ranges.size(), limit) << condition;
    check_sorted(set);
    for (const std::vector<Value>& row : table.rows) {
      const auto passes = holds(*predicate, row, texts);
      ASSERT_TRUE(passes) << condition;
      const bool covered = covers(set, table::encode_key(std::span(row).first(keys)));
      ASSERT_TRUE(covered || !*passes) << condition << " limit " << limit;
      ASSERT_TRUE(!covered || *passes || !set.exact) << condition << " limit " << limit;
    }
  }
}

void check_table(const Table& table, std::uint64_t seed, int rounds) {
  SeededRandom random(seed);
  RandomCondition conditions(random, table.schema.find("h").has_value());
  for (int round = 0; round < rounds; ++round) {
    const std::string condition = conditions.make(static_cast<int>(random.below(4)));
    check_condition(table, condition, {.canonical_null_relations = random.one_in(3)});
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(QueryRangesModel, RowsThatPassLieInTheRanges) {
  check_table(make_table("", false), 1, 400);
}
TEST(QueryRangesModel, WithAHashColumn) {
  check_table(make_table("farm_hash(a, b) % 3", true), 2, 250);
}
TEST(QueryRangesModel, WithAHashOfATextInTheMiddle) {
  check_table(make_table("farm_hash(s) % 4", false), 3, 250);
}
TEST(QueryRangesModel, WithADividedColumn) {
  check_table(make_table("uint64(a / 2)", true), 4, 250);
}
TEST(QueryRangesModel, WithARemainderThatMayBeNull) {
  check_table(make_table("uint64(a) % 3", true), 6, 250);
}
TEST(QueryRangesModel, WithAHashThatIsNotBounded) {
  check_table(make_table("farm_hash(b) + uint64(a / 3)", true), 5, 250);
}

}  // namespace
}  // namespace moraine::query
