// Columns of chunks against the rows that they were made from.

#include <gtest/gtest.h>

#include "table/chunk/column_filter.h"
#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

class ChunkColumnTest : public testing::Test {
 protected:
  static constexpr ColumnFilter::Op kOps[] = {
      ColumnFilter::Op::kEqual,   ColumnFilter::Op::kNotEqual,
      ColumnFilter::Op::kLess,    ColumnFilter::Op::kLessOrEqual,
      ColumnFilter::Op::kGreater, ColumnFilter::Op::kGreaterOrEqual,
      ColumnFilter::Op::kIsNull,  ColumnFilter::Op::kIsNotNull};

  // All columns of the rows that are visible, as text.
  static std::vector<std::string> expected(const TableSchema& schema,
                                           const std::vector<OwnedRow>& rows, Timestamp timestamp,
                                           const std::vector<ColumnFilter>& filters,
                                           const std::vector<ColumnCondition>& conditions = {}) {
    std::vector<std::string> result;
    std::vector<ColumnIndex> columns;
    for (std::size_t i = schema.key_count(); i < schema.columns.size(); ++i) {
      columns.push_back(static_cast<ColumnIndex>(i));
    }
    for (const OwnedRow& row : rows) {
      std::vector<Value> cells;
      std::string memory;
      EXPECT_TRUE(decode_key(as_bytes(row.key), cells, memory));
      cells.resize(schema.columns.size());
      TextMemory folded;
      if (!read_visible(row.row(), timestamp, 0, schema, columns, cells.data() + schema.key_count(),
                        folded)) {
        continue;
      }
      const bool passes =
          std::ranges::all_of(filters,
                              [&](const ColumnFilter& f) { return fits(f, cells[f.column]); }) &&
          std::ranges::all_of(conditions, [&](const ColumnCondition& c) {
            return c.values.contains(cells[c.column]);
          });
      if (passes) result.push_back(text_of(cells));
    }
    return result;
  }
  static std::string text_of(const std::vector<Value>& cells) {
    std::string text;
    for (const Value& cell : cells) text += describe_value(cell) + " ";
    return text;
  }
  std::vector<std::string> read(ChunkReader::ColumnCursor& cursor) {
    std::vector<std::string> result;
    ColumnBatch batch;
    for (;;) {
      const auto step = cursor.next(batch);
      if (step == RowCursor::Step::kEnd) return result;
      if (step == RowCursor::Step::kNeedsData) {
        EXPECT_TRUE(run_now(cursor.load()));
        continue;
      }
      for (std::size_t row = 0; row < batch.rows; ++row) {
        std::vector<Value> cells;
        for (const ColumnVector& column : batch.columns) cells.push_back(value_at(column, row));
        result.push_back(text_of(cells));
      }
    }
  }
  static ChunkWriteOptions scan_format() {
    ChunkWriteOptions options;
    options.format = OptimizeFor::kScan;
    return options;
  }

  // Sets of values that the rows have, of others, and ranges between them.
  static ValueSet random_set(const std::vector<OwnedRow>& rows, ColumnIndex column, ValueType type,
                             OwnedRow& memory, Random& random) {
    std::vector<ValueInterval> intervals;
    const auto value = [&]() -> Value {
      if (random.one_in(10)) return {};
      const OwnedRow& row = rows[random.below(rows.size())];
      for (const VersionedValue& v : row.builder.values) {
        if (v.column == column && random.one_in(2)) return v.value;
      }
      return random_value(memory, type, random);
    };
    for (std::uint64_t count = random.one_in(4) ? 40 : random.below(4); count > 0; --count) {
      const Value from = value();
      const Value to = count < 30 && random.one_in(3) ? value() : from;
      intervals.push_back({{.value = from, .after = random.one_in(4)},
                           {.value = to, .after = !random.one_in(4), .end = random.one_in(20)}});
    }
    const ValueSet set = ValueSet::of(std::move(intervals));
    return random.one_in(4) ? complement(set) : set;
  }

  TestChunks chunks_;
};

TEST_F(ChunkColumnTest, ReturnsTheVisibleRowsThatPassTheFilters) {
  std::size_t read_by_column = 0;
  std::size_t returned = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    const auto schema = std::make_shared<TableSchema>(random_schema(random));
    const std::vector<OwnedRow> rows = random_rows(*schema, random, 1 + random.below(400));
    const ChunkWriteOptions options = seed % 2 == 0 ? scan_format() : ChunkWriteOptions{};
    const auto reader = chunks_.open(chunks_.write(schema, options, rows), schema);
    ASSERT_TRUE(reader);
    std::vector<ColumnIndex> columns;
    for (std::size_t i = 0; i < schema->columns.size(); ++i) {
      columns.push_back(static_cast<ColumnIndex>(i));
    }
    OwnedRow memory;
    for (int i = 0; i < 8; ++i) {
      std::vector<ColumnFilter> filters;
      for (std::uint64_t count = random.below(3); count > 0; --count) {
        const ColumnIndex column = columns[random.below(columns.size())];
        // Often an existing value.
        const OwnedRow& row = rows[random.below(rows.size())];
        Value value = random_value(memory, physical_type(schema->columns[column].type), random);
        for (const VersionedValue& v : row.builder.values) {
          if (v.column == column && random.one_in(2)) value = v.value;
        }
        filters.push_back({column, kOps[random.below(std::size(kOps))], value});
      }
      const Timestamp at = random.one_in(2) ? kAsyncLastCommitted : random_timestamp(random);
      std::vector<ColumnCondition> conditions;
      for (std::uint64_t count = random.below(3); count > 0; --count) {
        const ColumnIndex column = columns[random.below(columns.size())];
        const ValueType type = physical_type(schema->columns[column].type);
        conditions.push_back({column, random_set(rows, column, type, memory, random)});
      }
      ScanStatistics statistics;
      const auto cursor = (*reader)->scan_columns({}, {.timestamp = at,
                                                       .columns = columns,
                                                       .filters = filters,
                                                       .conditions = conditions,
                                                       .text_tables = random.one_in(2),
                                                       .statistics = &statistics});
      if (cursor == nullptr) continue;
      ++read_by_column;
      const std::vector<std::string> wanted = expected(*schema, rows, at, filters, conditions);
      ASSERT_EQ(read(*cursor), wanted);
      ASSERT_GE(statistics.rows_read, wanted.size());
      returned += wanted.size();
    }
  }
  EXPECT_GT(read_by_column, 200u);
  EXPECT_GT(returned, 10'000u);
}

TEST_F(ChunkColumnTest, KeepsToItsBounds) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const std::vector<OwnedRow> rows = plain_rows(10'000);
  const std::vector<ColumnIndex> columns{0, 1, 2};
  const std::vector<std::string> all = expected(*schema, rows, kAsyncLastCommitted, {});
  for (const ChunkWriteOptions& options : {scan_format(), ChunkWriteOptions{}}) {
    const auto reader = chunks_.open(chunks_.write(schema, options, rows), schema);
    ASSERT_TRUE(reader);
    for (const auto& [from, to] : {std::pair(4'000, 9'000), std::pair(4'000, 4'001)}) {
      const auto part =
          (*reader)->scan_columns({rows[from].key, rows[to].key}, {.columns = columns});
      EXPECT_EQ(read(*part), std::vector(all.begin() + from, all.begin() + to));
    }
  }
}

TEST_F(ChunkColumnTest, TheLookupFormatReturnsNoMoreRowsThanRequested) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const auto reader = chunks_.open(chunks_.write(schema, {}, plain_rows(10'000)), schema);
  ASSERT_TRUE(reader);
  const std::vector<ColumnIndex> columns{0, 1};
  const auto cursor = (*reader)->scan_columns({}, {.columns = columns});
  std::size_t rows = 0;
  ColumnBatch batch;
  for (auto step = cursor->next(batch); step != RowCursor::Step::kEnd; step = cursor->next(batch)) {
    cursor->limit_rows(7);
    if (step == RowCursor::Step::kNeedsData) {
      ASSERT_TRUE(run_now(cursor->load()));
      continue;
    }
    ASSERT_LE(batch.rows, 7u);
    ASSERT_EQ(value_at(batch.columns[1], 0), Value(static_cast<std::int64_t>(rows * 7)));
    rows += batch.rows;
  }
  EXPECT_EQ(rows, 10'000u);
}

TEST_F(ChunkColumnTest, GroupsThatCannotFitAreNotRead) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const std::vector<OwnedRow> rows = plain_rows(40'000);
  const auto reader = chunks_.open(chunks_.write(schema, scan_format(), rows), schema);
  ASSERT_TRUE(reader);
  const std::vector<ColumnIndex> columns{2};
  const std::vector<ColumnFilter> filters{{1, ColumnFilter::Op::kGreater, Value(39'990 * 7)}};
  const auto cursor = (*reader)->scan_columns({}, {.columns = columns, .filters = filters});
  EXPECT_EQ(read(*cursor).size(), 9u);
  EXPECT_EQ(chunks_.blobs.reads, 1u);
  const std::vector<ColumnFilter> none{{2, ColumnFilter::Op::kIsNull, Value()}};
  EXPECT_TRUE(read(*(*reader)->scan_columns({}, {.columns = columns, .filters = none})).empty());
  EXPECT_EQ(chunks_.blobs.reads, 1u);
}

TEST_F(ChunkColumnTest, AListOfValuesSkipsGroupsThatHaveNoneOfThem) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  const auto reader =
      chunks_.open(chunks_.write(schema, scan_format(), plain_rows(40'000)), schema);
  ASSERT_TRUE(reader);
  const std::vector<ColumnIndex> columns{0};
  std::vector<Value> numbers;
  for (const int row : {3, 5, 39'000}) numbers.emplace_back(std::int64_t{row} * 7);
  numbers.emplace_back(std::int64_t{9'000 * 7 + 1});
  const std::vector<ColumnCondition> conditions{{1, ValueSet::of(numbers)}};
  ScanStatistics statistics;
  const auto cursor = (*reader)->scan_columns(
      {}, {.columns = columns, .conditions = conditions, .statistics = &statistics});
  EXPECT_EQ(read(*cursor), (std::vector<std::string>{"6 ", "10 ", "78000 "}));
  EXPECT_EQ(statistics.blocks_read, 3u * 2);
  EXPECT_EQ(statistics.blocks_skipped, 7u * 2);
  EXPECT_EQ(statistics.rows_read, 2 * kScanBlockRows + 40'000 % kScanBlockRows);
}

TEST_F(ChunkColumnTest, TextsThatRepeatAreCodesOfATable) {
  const auto schema = std::make_shared<TableSchema>(plain_schema());
  std::vector<OwnedRow> rows = plain_rows(10'000);
  const std::string_view texts[] = {"red", "green", "blue"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].builder.values[1].value = i % 7 == 0 ? Value() : Value(texts[i % 3]);
  }
  const auto reader = chunks_.open(chunks_.write(schema, scan_format(), rows), schema);
  ASSERT_TRUE(reader);
  const std::vector<ColumnIndex> columns{2, 0};
  const std::vector<ColumnFilter> filters{{2, ColumnFilter::Op::kNotEqual, Value("red")}};
  for (const bool filtered : {false, true}) {
    ColumnScan scan{.columns = columns, .text_tables = true};
    if (filtered) scan.filters = filters;
    const auto cursor = (*reader)->scan_columns({}, scan);
    ColumnBatch batch;
    std::size_t rows_seen = 0;
    for (auto step = cursor->next(batch); step != RowCursor::Step::kEnd;
         step = cursor->next(batch)) {
      if (step == RowCursor::Step::kNeedsData) {
        ASSERT_TRUE(run_now(cursor->load()));
        continue;
      }
      const ColumnVector& column = batch.columns[0];
      ASSERT_TRUE(column.table);
      EXPECT_LE(column.table->size(), 4u);  // Maybe one for rows without a value.
      EXPECT_TRUE(column.texts.empty());
      ASSERT_EQ(column.codes.size(), batch.rows);
      for (std::size_t row = 0; row < batch.rows; ++row) {
        const std::size_t number = batch.columns[1].words[row] / 2;
        ASSERT_EQ(value_at(column, row), number % 7 == 0 ? Value() : Value(texts[number % 3]));
      }
      rows_seen += batch.rows;
    }
    const auto red = static_cast<std::size_t>(std::ranges::count_if(
        rows, [](const OwnedRow& row) { return row.builder.values[1].value == Value("red"); }));
    const std::size_t nulls = (10'000 + 6) / 7;
    EXPECT_EQ(rows_seen, filtered ? 10'000 - nulls - red : 10'000);
  }
}

TEST_F(ChunkColumnTest, ColumnsAddedSinceAreNull) {
  TableSchema later = plain_schema();
  ColumnSchema added;
  added.name = "added";
  added.type = ColumnType::kInt64;
  later.columns.push_back(added);
  const std::vector<ColumnIndex> columns{3, 1};
  for (const ChunkWriteOptions& options : {scan_format(), ChunkWriteOptions{}}) {
    const ChunkRecord record =
        chunks_.write(std::make_shared<TableSchema>(plain_schema()), options, plain_rows(10));
    const auto reader = chunks_.open(record, std::make_shared<TableSchema>(later));
    ASSERT_TRUE(reader);
    EXPECT_EQ(read(*(*reader)->scan_columns({}, {.columns = columns}))[2], "null 14 ");
  }
}

TEST_F(ChunkColumnTest, TheLookupFormatHasNoColumnsOfTypeAny) {
  TableSchema schema = plain_schema();
  schema.columns.back().type = ColumnType::kAny;
  const auto shared = std::make_shared<TableSchema>(schema);
  const auto reader = chunks_.open(chunks_.write(shared, {}, plain_rows(10)), shared);
  ASSERT_TRUE(reader);
  const std::vector<ColumnIndex> columns{2};
  EXPECT_EQ((*reader)->scan_columns({}, {.columns = columns}), nullptr);
}

}  // namespace
}  // namespace moraine::table
