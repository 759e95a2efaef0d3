// Scans by columns against scans that merge rows one by one, over random stores.

#include "table/tablet/read/column_merge.h"

#include <algorithm>
#include <map>

#include "io/random.h"
#include "table/tablet/read/test_reader.h"

namespace moraine::table {
namespace {

// Keys of several shapes; values of every kind: plain, summed, long, any.
TableSchema schema_of_shape(std::uint64_t shape) {
  TableSchema schema;
  const auto key = [&schema](ColumnType type) {
    schema.columns.push_back(test_column("k" + std::to_string(schema.columns.size()), type, true));
  };
  switch (shape) {
    case 0: key(ColumnType::kInt64); break;
    case 1: key(ColumnType::kString); break;
    case 2:
      key(ColumnType::kUint64);
      key(ColumnType::kString);
      break;
    case 3:
      key(ColumnType::kInt64);
      key(ColumnType::kDouble);
      key(ColumnType::kBoolean);
      break;
    case 4: key(ColumnType::kAny); break;
    case 5:
      key(ColumnType::kInt64);
      key(ColumnType::kUint64);
      break;
    default: key(ColumnType::kDouble); break;
  }
  schema.columns.push_back(test_column("number", ColumnType::kInt64));
  schema.columns.push_back(test_column("text", ColumnType::kString));
  schema.columns.push_back(test_column("sum", ColumnType::kInt64));
  schema.columns.back().aggregate = Aggregate::kSum;
  schema.columns.push_back(test_column("long", ColumnType::kString));
  schema.columns.back().max_inline_hunk_size = 40;
  schema.columns.push_back(test_column("real", ColumnType::kDouble));
  schema.columns.push_back(test_column("flag", ColumnType::kBoolean));
  return schema;
}

class MergeWorld {
 public:
  explicit MergeWorld(std::uint64_t seed)
      : random_(seed),
        schema_(schema_of_shape(random_.below(7))),
        keys_(std::uint64_t{40} << random_.below(9)),
        tablet_(schema_, random_.one_in(3) ? 0 : 64 << 20) {}

  void fill() {
    for (std::uint64_t stores = 1 + random_.below(6); stores > 0; --stores) {
      write_store();
      if (stores == 1 && random_.one_in(2)) return;  // The last one stays active.
      if (random_.one_in(5)) {
        tablet_.stores.rotate(tablet_.executor.now());
      } else {
        const Codec codec{random_.one_in(2) ? CodecKind::kNone : CodecKind::kLz4};
        tablet_.flush(random_.one_in(4) ? OptimizeFor::kLookup : OptimizeFor::kScan,
                      random_.one_in(2), codec);
      }
    }
  }

  // Scans both ways and compares.
  void check() {
    ScanRequest request = random_request();
    ScanStatistics columnar;
    ScanStatistics rows;
    const std::vector<std::string> found = scan(request, columnar);
    request.columnar = false;
    const std::vector<std::string> expected = scan(request, rows);
    ASSERT_EQ(found, expected);
    EXPECT_EQ(columnar.rows_returned, rows.rows_returned);
    returned += found.size();
    copied += columnar.rows_read - columnar.rows_merged;
    merged += columnar.rows_merged;
    skipped += columnar.blocks_skipped;
  }

  std::uint64_t returned = 0;
  std::uint64_t copied = 0;
  std::uint64_t merged = 0;
  std::uint64_t skipped = 0;

 private:
  static constexpr ColumnIndex kValues = 6;

  ColumnIndex first_value() const { return static_cast<ColumnIndex>(schema_.key_count()); }

  std::string key_at(std::uint64_t number) {
    std::vector<Value> cells;
    std::string text;
    for (std::size_t i = 0; i < schema_.key_count(); ++i) {
      const std::uint64_t part = i + 1 < schema_.key_count() ? number / 7 : number;
      switch (schema_.columns[i].type) {
        case ColumnType::kInt64: cells.emplace_back(static_cast<std::int64_t>(part) - 50); break;
        case ColumnType::kUint64: cells.emplace_back(part); break;
        case ColumnType::kDouble: cells.emplace_back(static_cast<double>(part) / 4 - 3); break;
        case ColumnType::kBoolean: cells.emplace_back(part % 2 == 1); break;
        case ColumnType::kAny:
          text = fmt::format("\"key{:06}\"", part);
          cells.push_back(Value::any(text));
          break;
        default:
          // Many keys begin alike, some are short.
          text = part % 9 == 0 ? std::to_string(part) : fmt::format("a long beginning {:06}", part);
          cells.emplace_back(std::string_view(text));
      }
      if (i > 0 && number % 13 == 0) cells.back() = Value();
    }
    if (number == 0 && schema_.key_count() > 1) cells[0] = Value();
    return encode_key(cells);
  }

  Value value_of(ColumnIndex column) {
    if (random_.one_in(12)) return {};
    switch (column - first_value()) {
      case 0: return Value(static_cast<std::int64_t>(random_.below(100)) - 20);
      case 1: return keep(fmt::format("text {}", random_.below(20)));
      case 2: return Value(static_cast<std::int64_t>(random_.below(10)));
      case 3: return keep(std::string(random_.below(rarely_ ? 200 : 30), 'x'));
      case 4: return Value(static_cast<double>(random_.below(1'000)) / 8);
      default: return Value(random_.one_in(2));
    }
  }
  Value keep(std::string text) {
    return Value(std::string_view(*texts_.emplace_back(std::make_unique<std::string>(text))));
  }

  void write_store() {
    rarely_ = random_.one_in(4);
    const std::uint64_t from = random_.one_in(2) ? 0 : random_.below(keys_);
    const std::uint64_t to = from + 1 + random_.below(keys_ - from);
    const std::uint64_t step = random_.one_in(3) ? 1 : 1 + random_.below(60);
    const bool deletes = random_.one_in(2);
    const bool plain = random_.one_in(2);
    for (std::uint64_t i = from; i < to; i += 1 + random_.below(step)) {
      time_ += random_.below(3) == 0 ? 1 : 0;
      write_row(key_at(i), deletes, plain);
      if (!plain && random_.one_in(20)) {
        ++time_;
        write_row(key_at(i), deletes, plain);
      }
    }
    ++time_;
  }

  void write_row(const std::string& key, bool deletes, bool plain) {
    MemoryStore& store = tablet_.active();
    MemoryStore::Row& row = store.touch(as_bytes(key), key_hash(as_bytes(key)));
    if (deletes && random_.one_in(6)) return store.add(row, time_, ChangeKind::kDelete, {});
    std::string image;
    begin_image(image);
    std::uint16_t cells = 0;
    for (ColumnIndex i = 0; i < kValues; ++i) {
      const auto column = static_cast<ColumnIndex>(first_value() + i);
      if (!plain && random_.one_in(3)) continue;
      const bool delta = i == 2 && random_.one_in(plain ? 50 : 2);
      append_cell(image, column, delta, value_of(column));
      ++cells;
    }
    finish_image(image, cells);
    store.add(row, time_, ChangeKind::kWrite, as_bytes(image));
  }

  ScanRequest random_request() {
    ScanRequest request;
    for (std::uint64_t count = random_.below(5); count > 0; --count) {
      request.columns.push_back(static_cast<ColumnIndex>(random_.below(schema_.columns.size())));
    }
    request.timestamp = random_.one_in(2) ? kSyncLastCommitted : random_.below(time_ + 3);
    if (request.timestamp == 0) request.timestamp = kAsyncLastCommitted;
    if (random_.one_in(8)) {
      request.retention_timestamp = random_.below(std::min(request.timestamp, time_));
    }
    if (random_.one_in(3)) request.bounds.from = key_at(random_.below(keys_));
    if (random_.one_in(3)) request.bounds.to = key_at(random_.below(keys_));
    if (random_.one_in(5)) request.row_limit = random_.below(keys_);
    request.text_tables = random_.one_in(2);
    for (std::uint64_t count = random_.one_in(2) ? 0 : random_.below(3); count > 0; --count) {
      const auto column = static_cast<ColumnIndex>(first_value() + random_.below(kValues));
      std::vector<Value> values;
      for (std::uint64_t i = random_.below(4); i > 0; --i) values.push_back(value_of(column));
      ValueSet set = ValueSet::of(values);
      if (random_.one_in(2)) {
        set = unite(set, ValueSet::matching(Filter::Op::kGreater, value_of(column)));
      }
      request.conditions.push_back({column, random_.one_in(3) ? complement(set) : set});
    }
    return request;
  }

  std::vector<std::string> scan(const ScanRequest& request, ScanStatistics& statistics) {
    std::vector<std::string> rows;
    Result<std::unique_ptr<TabletScan>> opened = tablet_.reader.scan(request);
    EXPECT_TRUE(opened) << opened.error().message();
    if (!opened) return rows;
    TabletScan& scan = **opened;
    ColumnBatch batch;
    std::string position;
    for (;;) {
      const Result<TabletScan::Step> step = scan.next(batch);
      EXPECT_TRUE(step) << step.error().message();
      if (!step || *step == TabletScan::Step::kEnd) break;
      if (*step == TabletScan::Step::kNeedsData) {
        EXPECT_TRUE(tablet_.run(scan.load()));
        continue;
      }
      for (std::size_t row = 0; row < batch.rows; ++row) rows.push_back(text_of(batch, row));
      const std::string reached = scan.position();
      EXPECT_TRUE(reached.empty() || reached >= position);
      if (!reached.empty()) position = reached;
    }
    statistics = scan.statistics();
    return rows;
  }

  static std::string text_of(const ColumnBatch& batch, std::size_t row) {
    std::string text;
    for (const ColumnVector& column : batch.columns) {
      text += ' ';
      if (!column.nulls.empty() && column.nulls[row] != 0) {
        text += '-';
      } else if (is_text_type(column.type)) {
        text += column.text(row);
      } else {
        text += std::to_string(column.words[row]);
      }
    }
    return text;
  }

  SeededRandom random_;
  const TableSchema schema_;
  const std::uint64_t keys_;
  TestReader tablet_;
  Timestamp time_ = 10;
  bool rarely_ = false;
  std::vector<std::unique_ptr<std::string>> texts_;
};

TEST(ColumnMergeTest, ReturnsTheRowsThatMergingThemOneByOneReturns) {
  std::uint64_t returned = 0;
  std::uint64_t copied = 0;
  std::uint64_t merged = 0;
  std::uint64_t skipped = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    MergeWorld world(seed);
    world.fill();
    for (int i = 0; i < 12; ++i) {
      world.check();
      if (testing::Test::HasFailure()) return;
    }
    returned += world.returned;
    copied += world.copied;
    merged += world.merged;
    skipped += world.skipped;
  }
  EXPECT_GT(returned, 50'000u);
  EXPECT_GT(copied, 50'000u);
  EXPECT_GT(merged, 50'000u);
  EXPECT_GT(skipped, 100u);
}

struct MergeTest : testing::Test {
  TestReader tablet;

  // All rows as numbers in column 2.
  std::vector<std::int64_t> numbers(TabletScan& scan) {
    std::vector<std::int64_t> found;
    ColumnBatch batch;
    for (auto step = scan.next(batch); *step != TabletScan::Step::kEnd; step = scan.next(batch)) {
      if (*step == TabletScan::Step::kNeedsData) {
        EXPECT_TRUE(tablet.run(scan.load()));
        continue;
      }
      for (std::size_t row = 0; row < batch.rows; ++row) {
        found.push_back(static_cast<std::int64_t>(batch.columns[0].words[row]));
      }
    }
    return found;
  }
  static ScanRequest of_numbers() {
    ScanRequest request;
    request.columns = {2};
    return request;
  }
};

TEST_F(MergeTest, UpdatesInMemoryLeaveOtherRowsToBeCopied) {
  constexpr std::int64_t kRows = 40'000;
  for (std::int64_t i = 0; i < kRows; ++i) {
    tablet.write(i, 10, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  std::vector<std::int64_t> expected(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) expected[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = 0; i < kRows; i += 100) {
    tablet.write(i, 20, {{1, "t"}, {2, Value(-i)}, {3, "w"}});
    expected[static_cast<std::size_t>(i)] = -i;
  }
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(of_numbers());
  EXPECT_EQ(numbers(*scan), expected);
  EXPECT_EQ(scan->statistics().rows_merged, static_cast<std::uint64_t>(kRows) / 100);
}

TEST_F(MergeTest, GroupsWhoseRowsWereReplacedAreReturnedAsTheyAre) {
  constexpr std::int64_t kRows = 10 * kBatchRowsMax;
  std::vector<std::int64_t> expected(kRows);
  const auto write = [&](std::int64_t first, std::int64_t step, Timestamp time) {
    for (std::int64_t i = first; i < kRows; i += step) {
      const std::int64_t number = i * 100 + static_cast<std::int64_t>(time);
      tablet.write(i, time, {{1, i % 2 == 0 ? "even" : "odd"}, {2, Value(number)}, {3, "w"}});
      expected[static_cast<std::size_t>(i)] = number;
    }
  };
  write(0, 1, 10);
  tablet.flush(OptimizeFor::kScan, false);
  write(3, 10, 20);
  tablet.flush(OptimizeFor::kScan);
  write(6, 7, 30);  // Some of them are in both.
  for (const bool conditions : {false, true}) {
    ScanRequest request = of_numbers();
    request.columns.push_back(1);
    if (conditions) {
      const auto half = ValueSet::matching(Filter::Op::kLess, Value(kRows * 50));
      request.conditions = {{2, half}, {1, ValueSet::of(std::vector<Value>{Value("even")})}};
    }
    std::unique_ptr<TabletScan> scan = *tablet.reader.scan(request);
    ColumnBatch batch;
    std::vector<std::int64_t> found;
    std::size_t whole = 0;
    for (auto step = scan->next(batch); *step != TabletScan::Step::kEnd; step = scan->next(batch)) {
      if (*step == TabletScan::Step::kNeedsData) {
        ASSERT_TRUE(tablet.run(scan->load()));
        continue;
      }
      whole += batch.rows == kBatchRowsMax ? 1 : 0;
      for (std::size_t row = 0; row < batch.rows; ++row) {
        const auto number = static_cast<std::int64_t>(batch.columns[0].words[row]);
        EXPECT_EQ(batch.columns[1].text(row), number / 100 % 2 == 0 ? "even" : "odd");
        found.push_back(number);
      }
    }
    std::vector<std::int64_t> wanted;
    for (const std::int64_t number : expected) {
      if (!conditions || (number < kRows * 50 && number / 100 % 2 == 0)) wanted.push_back(number);
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(whole, conditions ? 0u : 10u);
  }
}

TEST_F(MergeTest, RowsThatCannotTakeThePlaceOfAnotherAreMergedWithIt) {
  constexpr std::int64_t kRows = 3'008;  // A multiple of 16.
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < kRows; ++i) {
    tablet.write(i, 10, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  for (std::int64_t i = 0; i < kRows; i += 4) {
    if (i % 16 == 0) tablet.write(i, 20, {{2, Value(std::int64_t{7}), true}});
    if (i % 16 == 4) tablet.write(i, 20, {{1, "t"}, {2, Value(-i)}, {3, "w"}});
    if (i % 16 == 8) tablet.remove(i, 20);
    if (i % 16 == 12) tablet.write(kRows + i, 20, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan);
  for (std::int64_t i = 0; i < kRows; i += 16) {
    tablet.write(i, 30, {{2, Value(std::int64_t{1'000}), true}});
    tablet.write(i + 4, 30, {{2, Value(std::int64_t{-1}), true}});
    tablet.write(i + 8, 30, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  for (std::int64_t i = 0; i < kRows; ++i) {
    expected.push_back(i % 16 == 0 ? i + 1'007 : i % 16 == 4 ? -i - 1 : i % 16 == 8 ? i - 8 : i);
  }
  for (std::int64_t i = 12; i < kRows; i += 16) expected.push_back(i);
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(of_numbers());
  EXPECT_EQ(numbers(*scan), expected);
}

TEST_F(MergeTest, RowsOfSeveralChunksTakeTheirPlacesWithoutBeingMergedOneByOne) {
  std::map<std::int64_t, std::int64_t> expected;
  // Which multiples of what have a row in each chunk; some runs are long, some are one row.
  const std::pair<std::int64_t, std::int64_t> chunks[] = {{0, 2}, {7, 10}, {100, 900}, {3, 501}};
  Timestamp time = 10;
  for (const auto& [first, step] : chunks) {
    for (std::int64_t i = first; i < 60'000; i += step) {
      const std::int64_t number = i * 10 + static_cast<std::int64_t>(time % 10);
      tablet.write(i, time, {{1, "t"}, {2, Value(number)}, {3, "w"}});
      expected[i] = number;
    }
    ++time;
    tablet.flush(OptimizeFor::kScan);
  }
  std::vector<std::int64_t> wanted;
  for (const auto& [key, number] : expected) wanted.push_back(number);
  for (const std::uint64_t limit : {~std::uint64_t{0}, std::uint64_t{12'345}}) {
    ScanRequest request = of_numbers();
    request.row_limit = limit;
    std::unique_ptr<TabletScan> scan = *tablet.reader.scan(request);
    wanted.resize(std::min<std::uint64_t>(limit, wanted.size()));
    EXPECT_EQ(numbers(*scan), wanted);
    EXPECT_EQ(scan->statistics().rows_merged, 0u);
  }
}

TEST_F(MergeTest, TextsOfMergedRowsAreCodesOfOneTable) {
  constexpr std::int64_t kRows = 10'000;
  const std::string_view names[] = {"red", "green", "blue", "black"};
  for (std::int64_t i = 0; i < kRows; ++i) {
    tablet.write(i, 10, {{1, names[i % 3]}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  for (std::int64_t i = 1; i < kRows; i += 50) {
    tablet.write(i, 20, {{1, names[3]}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan);
  for (std::int64_t i = 2; i < kRows; i += 100) {
    tablet.write(i, 30, {{1, i % 200 == 2 ? Value("new") : Value()}, {2, Value(i)}, {3, "w"}});
  }
  ScanRequest request;
  request.columns = {1, 0};
  request.text_tables = true;
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(request);
  ColumnBatch batch;
  std::int64_t row = 0;
  for (auto step = scan->next(batch); *step != TabletScan::Step::kEnd; step = scan->next(batch)) {
    if (*step == TabletScan::Step::kNeedsData) {
      ASSERT_TRUE(tablet.run(scan->load()));
      continue;
    }
    const ColumnVector& column = batch.columns[0];
    ASSERT_TRUE(column.table);
    ASSERT_TRUE(column.texts.empty());
    ASSERT_EQ(column.codes.size(), batch.rows);
    EXPECT_LT(column.table->size(), batch.rows / 2);
    for (std::size_t i = 0; i < batch.rows; ++i, ++row) {
      const bool null = row % 200 == 102;
      ASSERT_EQ(!column.nulls.empty() && column.nulls[i] != 0, null) << row;
      if (null) continue;
      const std::string_view expected = row % 100 == 2  ? "new"
                                        : row % 50 == 1 ? names[3]
                                                        : names[row % 3];
      ASSERT_EQ(column.text(i), expected) << row;
    }
  }
  EXPECT_EQ(row, kRows);
}

TEST_F(MergeTest, AGroupThatNobodyUpdatedIsSkippedByItsValues) {
  constexpr std::int64_t kRows = 40'000;
  for (std::int64_t i = 0; i < kRows; ++i) {
    tablet.write(i, 10, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  tablet.write(20'000, 20, {{1, "t"}, {2, Value(std::int64_t{39'999})}, {3, "w"}});
  ScanRequest request = of_numbers();
  request.conditions = {
      {2, ValueSet::matching(Filter::Op::kGreaterOrEqual, Value(std::int64_t{39'998}))}};
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(request);
  EXPECT_EQ(numbers(*scan), (std::vector<std::int64_t>{39'999, 39'998, 39'999}));
  // The updated group and the last one.
  EXPECT_LE(scan->statistics().rows_read, 2 * kScanBlockRows + 1);
  EXPECT_GE(scan->statistics().blocks_skipped, 8u);
}

TEST_F(MergeTest, AnUndecidedRowIsWaitedForBetweenRowsOfAChunk) {
  for (std::int64_t i = 0; i < 10'000; ++i) {
    tablet.write(i, 10, {{1, "t"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  MemoryStore::Row& row = tablet.touch(5'000);
  const PreparedMark mark{.since = 15, .two_phase = true};
  tablet.active().prepare(row, mark);
  tablet.undecided.decide = [&] {
    tablet.write(5'000, 20, {{1, "t"}, {2, Value(std::int64_t{-1})}, {3, "w"}});
    tablet.active().resolve(row, mark);
  };
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(of_numbers());
  const std::vector<std::int64_t> found = numbers(*scan);
  ASSERT_EQ(found.size(), 10'000u);
  EXPECT_EQ(found[4'999], 4'999);
  EXPECT_EQ(found[5'000], -1);
  EXPECT_EQ(found[9'999], 9'999);
  EXPECT_EQ(tablet.undecided.waited, std::vector<std::string>{key_of(5'000)});
}

TEST_F(MergeTest, TextsOfTheLastBatchOutliveTheirStores) {
  for (std::int64_t i = 0; i < 100; ++i) {
    tablet.write(i, 10, {{1, i % 2 == 0 ? "in a chunk" : "another"}, {2, Value(i)}, {3, "w"}});
  }
  tablet.flush(OptimizeFor::kScan, false);
  for (std::int64_t i = 0; i < 100; i += 10) {
    tablet.write(i, 20, {{1, "in memory"}, {2, Value(i)}, {3, "w"}});
  }
  ScanRequest request;
  request.columns = {1};
  std::unique_ptr<TabletScan> scan = *tablet.reader.scan(request);
  ColumnBatch batch;
  while (*scan->next(batch) == TabletScan::Step::kNeedsData) {
    ASSERT_TRUE(tablet.run(scan->load()));
  }
  tablet.flush(OptimizeFor::kScan, false);
  scan->release();
  ASSERT_EQ(batch.rows, 100u);
  EXPECT_EQ(batch.columns[0].text(0), "in memory");
  EXPECT_EQ(batch.columns[0].text(1), "another");
  EXPECT_EQ(batch.columns[0].text(2), "in a chunk");
}

}  // namespace
}  // namespace moraine::table
