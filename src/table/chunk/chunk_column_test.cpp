// Columns of chunks against the rows that they were made from.

#include <gtest/gtest.h>

#include "table/chunk/column_filter.h"
#include "table/chunk/group_cursor.h"
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
  // The same of a chunk of the scan format, group by group. Nullopt: it cannot be read so.
  std::optional<std::vector<std::string>> read_groups(const ChunkReader& reader,
                                                      const TableSchema& schema,
                                                      const ColumnScan& scan,
                                                      const KeyBounds& bounds = {}) {
    const auto cursor = reader.scan_groups(bounds, scan);
    if (cursor == nullptr) return std::nullopt;
    std::vector<std::string> result;
    while (!cursor->ended() || cursor->inside()) {
      if (!cursor->inside()) {
        if (cursor->skippable()) {
          cursor->skip();
        } else if (!cursor->enter(false)) {
          EXPECT_TRUE(run_now(cursor->load()));
        }
        continue;
      }
      for (std::uint32_t row = cursor->row(); row < cursor->end_row(); ++row) {
        std::vector<Value> cells;
        if (cursor->is_irregular(row)) {
          read_irregular(*cursor, row, schema, scan, result);
          continue;
        }
        if (cursor->mask() != nullptr && cursor->mask()[row] == 0) continue;
        for (std::size_t i = 0; i < scan.columns.size(); ++i) {
          cells.push_back(value_at(cursor->column(i), row));
        }
        result.push_back(text_of(cells));
      }
      cursor->skip_to(cursor->end_row());
    }
    return result;
  }
  static void read_irregular(GroupCursor& cursor, std::uint32_t row, const TableSchema& schema,
                             const ColumnScan& scan, std::vector<std::string>& result) {
    ColumnSet wanted = ColumnSet::none(schema.columns.size());
    const auto want = [&](ColumnIndex column) {
      if (!schema.columns[column].key) wanted.add(column);
    };
    for (const ColumnIndex column : scan.columns) want(column);
    for (const ColumnFilter& filter : scan.filters) want(filter.column);
    for (const ColumnCondition& condition : scan.conditions) want(condition.column);
    RowBuilder versions;
    if (!cursor.read(row, {.timestamp = scan.timestamp, .columns = &wanted}, versions)) return;
    std::vector<Value> cells;
    std::string memory;
    EXPECT_TRUE(decode_key(versions.key, cells, memory));
    cells.resize(schema.columns.size());
    std::vector<ColumnIndex> columns;
    for (std::size_t i = schema.key_count(); i < schema.columns.size(); ++i) {
      if (wanted.has(static_cast<ColumnIndex>(i))) columns.push_back(static_cast<ColumnIndex>(i));
    }
    std::vector<Value> values(columns.size());
    TextMemory folded;
    if (!read_visible(versions.row(), scan.timestamp, 0, schema, columns, values.data(), folded)) {
      return;
    }
    for (std::size_t i = 0; i < columns.size(); ++i) cells[columns[i]] = values[i];
    const bool passes =
        std::ranges::all_of(scan.filters,
                            [&](const ColumnFilter& f) { return fits(f, cells[f.column]); }) &&
        std::ranges::all_of(scan.conditions, [&](const ColumnCondition& c) {
          return c.values.contains(cells[c.column]);
        });
    if (!passes) return;
    std::vector<Value> shown;
    for (const ColumnIndex column : scan.columns) shown.push_back(cells[column]);
    result.push_back(text_of(shown));
  }
  // Of either format.
  std::optional<std::vector<std::string>> read_all(const ChunkReader& reader,
                                                   const TableSchema& schema,
                                                   const ColumnScan& scan,
                                                   const KeyBounds& bounds = {}) {
    if (reader.record().format == OptimizeFor::kScan) {
      return read_groups(reader, schema, scan, bounds);
    }
    const auto cursor = reader.scan_columns(bounds, scan);
    if (cursor == nullptr) return std::nullopt;
    return read(*cursor);
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
      const auto found = read_all(**reader, *schema,
                                  {.timestamp = at,
                                   .columns = columns,
                                   .filters = filters,
                                   .conditions = conditions,
                                   .text_tables = random.one_in(2),
                                   .statistics = &statistics});
      if (!found) continue;
      ++read_by_column;
      const std::vector<std::string> wanted = expected(*schema, rows, at, filters, conditions);
      ASSERT_EQ(*found, wanted);
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
          read_all(**reader, *schema, {.columns = columns}, {rows[from].key, rows[to].key});
      EXPECT_EQ(part, std::vector(all.begin() + from, all.begin() + to));
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
  const auto found = read_all(**reader, *schema, {.columns = columns, .filters = filters});
  EXPECT_EQ(found->size(), 9u);
  EXPECT_EQ(chunks_.blobs.reads, 1u);
  const std::vector<ColumnFilter> none{{2, ColumnFilter::Op::kIsNull, Value()}};
  EXPECT_TRUE(read_all(**reader, *schema, {.columns = columns, .filters = none})->empty());
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
  const auto found = read_all(
      **reader, *schema, {.columns = columns, .conditions = conditions, .statistics = &statistics});
  EXPECT_EQ(found, (std::vector<std::string>{"6 ", "10 ", "78000 "}));
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
  const auto cursor =
      (*reader)->scan_groups({}, {.columns = columns, .filters = filters, .text_tables = true});
  std::size_t rows_seen = 0;
  std::size_t passed = 0;
  while (!cursor->ended()) {
    if (!cursor->enter(false)) {
      ASSERT_TRUE(run_now(cursor->load()));
      continue;
    }
    const std::uint8_t* mask = cursor->mask();
    ASSERT_NE(mask, nullptr);
    ColumnVector column;
    cursor->take(0, column);
    ASSERT_TRUE(column.table);
    EXPECT_LE(column.table->size(), 4u);  // Maybe one for rows without a value.
    EXPECT_TRUE(column.texts.empty());
    ASSERT_EQ(column.codes.size(), cursor->group_rows());
    for (std::uint32_t row = 0; row < cursor->group_rows(); ++row) {
      const std::size_t number = cursor->column(1).words[row] / 2;
      const Value expected = number % 7 == 0 ? Value() : Value(texts[number % 3]);
      ASSERT_EQ(value_at(column, row), expected);
      EXPECT_EQ(mask[row] != 0, number % 7 != 0 && number % 3 != 0);
      passed += mask[row];
    }
    rows_seen += cursor->group_rows();
    cursor->skip_to(cursor->end_row());
  }
  EXPECT_EQ(rows_seen, 10'000u);
  EXPECT_GT(passed, 5'000u);
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
    EXPECT_EQ((*read_all(**reader, later, {.columns = columns}))[2], "null 14 ");
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
