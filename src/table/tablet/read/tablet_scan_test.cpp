#include <algorithm>
#include <functional>
#include <set>

#include "table/tablet/read/merge_cursor.h"
#include "table/tablet/read/scan.h"
#include "table/tablet/read/scan_plan.h"
#include "table/tablet/read/test_reader.h"

namespace moraine::table {
namespace {

struct ScanTest : testing::Test {
  TestReader tablet;
  std::size_t batches = 0;
  std::size_t empty_batches = 0;

  static ScanRequest all(std::vector<ColumnIndex> columns = {0, 1, 2, 3}) {
    ScanRequest request;
    request.columns = std::move(columns);
    return request;
  }

  static void show(const ColumnBatch& batch, std::vector<std::string>& rows) {
    for (std::size_t row = 0; row < batch.rows; ++row) {
      std::string text;
      for (const ColumnVector& column : batch.columns) {
        if (!text.empty()) text += ' ';
        if (!column.nulls.empty() && column.nulls[row] != 0) {
          text += '-';
        } else if (column.type == ValueType::kString) {
          text += column.texts[row];
        } else {
          text += std::to_string(static_cast<std::int64_t>(column.words[row]));
        }
      }
      rows.push_back(std::move(text));
    }
  }

  // All rows as texts; the last one is the error, if there is one.
  std::vector<std::string> scan(ScanRequest request) {
    Result<std::unique_ptr<TabletScan>> opened = tablet.reader.scan(std::move(request));
    if (!opened) return {opened.error().context};
    std::vector<std::string> rows;
    ColumnBatch batch;
    while (true) {
      const Result<TabletScan::Step> step = (*opened)->next(batch);
      if (!step) {
        rows.push_back(step.error().context);
        return rows;
      }
      if (*step == TabletScan::Step::kEnd) return rows;
      if (*step == TabletScan::Step::kRows) {
        ++batches;
        if (batch.rows == 0) ++empty_batches;
        show(batch, rows);
        continue;
      }
      const Result<void> loaded = tablet.run((*opened)->load());
      if (!loaded) {
        rows.push_back(loaded.error().message());
        return rows;
      }
    }
  }
};

using Rows = std::vector<std::string>;

TEST_F(ScanTest, RowsOfAllStoresComeMergedInKeyOrder) {
  tablet.write(1, 10, {{1, "a"}});
  tablet.write(3, 10, {{1, "c"}, {2, std::int64_t{5}}});
  tablet.flush();
  tablet.write(2, 20, {{1, "b"}});
  tablet.write(3, 20, {{2, std::int64_t{7}, true}});
  tablet.flush(OptimizeFor::kScan);
  tablet.write(4, 30, {{3, "w"}});
  tablet.write(1, 31, {{3, "x"}});
  EXPECT_EQ(scan(all()), (Rows{"1 a - x", "2 b - -", "3 c 12 -", "4 - - w"}));
  EXPECT_EQ(scan(all({3, 0})), (Rows{"x 1", "- 2", "- 3", "w 4"}));
}

TEST_F(ScanTest, ASnapshotIsWhatWasThereAtItsTimestamp) {
  tablet.write(1, 10, {{1, "a"}});
  tablet.write(2, 10, {{1, "b"}});
  tablet.flush();
  tablet.remove(1, 20);
  tablet.write(2, 20, {{1, "B"}});
  tablet.write(3, 30, {{1, "c"}});
  ScanRequest request = all({0, 1});
  request.timestamp = 10;
  EXPECT_EQ(scan(request), (Rows{"1 a", "2 b"}));
  request.timestamp = 20;
  EXPECT_EQ(scan(request), (Rows{"2 B"}));
  request.timestamp = kAsyncLastCommitted;
  EXPECT_EQ(scan(request), (Rows{"2 B", "3 c"}));
  request.retention_timestamp = 25;
  EXPECT_EQ(scan(request), (Rows{"3 c"}));
}

TEST_F(ScanTest, BoundsLimitsAndFiltersHoldInEveryStore) {
  for (int i = 0; i < 100; ++i) {
    tablet.write(i, 10, {{1, i % 2 == 0 ? "even" : "odd"}, {2, std::int64_t{i}}});
  }
  for (const int stage : {0, 1, 2}) {
    if (stage == 1) tablet.flush(OptimizeFor::kScan, false);
    if (stage == 2) tablet.write(15, 20, {{1, "odd"}});
    ScanRequest request = all({0});
    request.bounds = {.from = key_of(10), .to = key_of(20)};
    EXPECT_EQ(scan(request).size(), 10u) << stage;
    request.filters.push_back(
        {.column = 1, .op = ColumnFilter::Op::kEqual, .value = Value("even")});
    EXPECT_EQ(scan(request), (Rows{"10", "12", "14", "16", "18"})) << stage;
    request.filters.push_back(
        {.column = 2, .op = ColumnFilter::Op::kGreater, .value = Value(std::int64_t{12})});
    EXPECT_EQ(scan(request), (Rows{"14", "16", "18"})) << stage;
    request.row_limit = 2;
    EXPECT_EQ(scan(request), (Rows{"14", "16"})) << stage;
    request.row_limit = 0;
    EXPECT_EQ(scan(request), Rows{}) << stage;
  }
}

TEST_F(ScanTest, EveryMixtureOfStoresReturnsTheSameRows) {
  Rows expected;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 7 != 0) expected.push_back(std::to_string(i) + (i % 5 == 0 ? " new" : " old"));
  }
  for (const OptimizeFor first : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    for (const int flushes : {0, 1, 2, 3}) {
      TestReader other;
      for (int i = 0; i < 20'000; ++i) other.write(i, 10, {{1, "old"}});
      if (flushes > 0) other.flush(first, false);
      for (int i = 0; i < 20'000; i += 5) other.write(i, 20, {{1, "new"}});
      if (flushes > 1) other.flush(OptimizeFor::kScan);
      for (int i = 0; i < 20'000; i += 7) other.remove(i, 30);
      if (flushes > 2) other.flush(OptimizeFor::kLookup);
      std::unique_ptr<TabletScan> scan = *other.reader.scan(all({0, 1}));
      Rows rows;
      ColumnBatch batch;
      for (auto step = scan->next(batch); *step != TabletScan::Step::kEnd;
           step = scan->next(batch)) {
        if (*step == TabletScan::Step::kRows) {
          show(batch, rows);
        } else {
          ASSERT_TRUE(other.run(scan->load()));
        }
      }
      EXPECT_EQ(rows, expected) << flushes;
      EXPECT_EQ(other.statistics.scan.get(LookupStatistics::kRows), expected.size());
    }
  }
}

TEST_F(ScanTest, RowsBelowThePositionWereReturnedInEveryMixtureOfStores) {
  constexpr int kRows = 50'000;
  for (const OptimizeFor first : {OptimizeFor::kLookup, OptimizeFor::kScan}) {
    for (const int flushes : {0, 1, 2}) {
      TestReader other(reader_schema(), 0);
      const std::string filler(500, '.');
      for (int i = 0; i < kRows; ++i) {
        const std::string_view how = i % 3'000 == 7 ? "rare" : "often";
        other.write(
            i, 10,
            {{1, how}, {3, std::string_view(filler).substr(static_cast<std::size_t>(i % 500))}});
      }
      if (flushes > 0) other.flush(first, false);
      for (int i = 0; i < kRows; i += 5) other.write(i, 20, {{1, "often"}});
      if (flushes > 1) other.flush(OptimizeFor::kScan);
      ScanRequest request = all({0, 1});
      request.filters.push_back(
          {.column = 1, .op = ColumnFilter::Op::kEqual, .value = Value("rare")});
      Rows expected;
      for (int i = 7; i < kRows; i += 3'000) expected.push_back(fmt::format("{} rare", i));
      std::unique_ptr<TabletScan> scan = *other.reader.scan(request);
      Rows rows;
      ColumnBatch batch;
      std::set<std::string> positions;
      for (auto step = scan->next(batch); *step != TabletScan::Step::kEnd;
           step = scan->next(batch)) {
        if (*step == TabletScan::Step::kRows) {
          show(batch, rows);
        } else {
          ASSERT_TRUE(other.run(scan->load()));
        }
        const std::string position = scan->position();
        for (std::size_t i = rows.size(); i < expected.size(); ++i) {
          ASSERT_LE(position, key_of(static_cast<std::int64_t>(i) * 3'000 + 7)) << flushes;
        }
        ASSERT_TRUE(positions.empty() || position >= *positions.rbegin()) << flushes;
        positions.insert(position);
      }
      EXPECT_EQ(rows, expected) << flushes;
      if (flushes > 0) {
        EXPECT_GE(positions.size(), 2u) << flushes;
        EXPECT_GT(*positions.rbegin(), key_of(kRows / 2)) << flushes;
      }
    }
  }
}

TEST_F(ScanTest, ChunksOfTheScanFormatAreMergedByColumnsInOneSegment) {
  for (int i = 0; i < 100; ++i) tablet.write(i, 10, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kScan, false);
  for (int i = 50; i < 200; ++i) tablet.write(i, 20, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kScan);
  const std::function<bool(const ChunkReader&)> usable = [](const ChunkReader&) { return true; };
  const auto merged = [&] {
    const auto view = tablet.stores.views().hold();
    return next_segment({.view = *view,
                         .from = {},
                         .to = {},
                         .memory_key = std::nullopt,
                         .readable_by_columns = usable});
  };
  const auto all_of_them = merged();
  ASSERT_TRUE(all_of_them);
  EXPECT_TRUE(all_of_them->merged);
  EXPECT_EQ(all_of_them->chunks.size(), 2u);
  EXPECT_TRUE(all_of_them->to.empty());
  // One of the lookup format takes part where it has rows.
  for (int i = 150; i < 300; ++i) tablet.write(i, 30, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kLookup);
  const auto before = merged();
  ASSERT_TRUE(before);
  EXPECT_TRUE(before->merged);
  EXPECT_FALSE(before->by_columns);
  EXPECT_FALSE(before->to.empty());
  EXPECT_EQ(scan(all({0})).size(), 300u);
}

TEST_F(ScanTest, AStretchThatOneChunkHasIsReadByColumnsBetweenRowsInMemory) {
  for (int i = 0; i < 30'000; ++i) tablet.write(i, 10, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kLookup, false);
  tablet.write(15'000, 20, {{2, std::int64_t{-1}}});
  const std::function<bool(const ChunkReader&)> usable = [](const ChunkReader&) { return true; };
  const auto view = tablet.stores.views().hold();
  const auto before = next_segment({.view = *view,
                                    .from = {},
                                    .to = {},
                                    .memory_key = key_of(15'000),
                                    .readable_by_columns = usable});
  ASSERT_TRUE(before);
  EXPECT_TRUE(before->by_columns);
  EXPECT_EQ(before->to, key_of(15'000));
  const auto at = next_segment({.view = *view,
                                .from = key_of(15'000),
                                .to = {},
                                .memory_key = key_of(15'000),
                                .readable_by_columns = usable});
  ASSERT_TRUE(at);
  EXPECT_FALSE(at->by_columns);
  EXPECT_TRUE(at->only_memory_hinders);
  const Rows rows = scan(all({0, 2}));
  ASSERT_EQ(rows.size(), 30'000u);
  EXPECT_EQ(rows[14'999], "14999 14999");
  EXPECT_EQ(rows[15'000], "15000 -1");
  EXPECT_EQ(rows[29'999], "29999 29999");
}

TEST_F(ScanTest, ManyDeletedRowsDoNotMakeACallLong) {
  for (int i = 0; i < 200'000; ++i) tablet.remove(i, 10);
  tablet.write(200'000, 20, {{1, "last"}});
  EXPECT_EQ(scan(all({0, 1})), (Rows{"200000 last"}));
  EXPECT_GE(empty_batches, 200'000 / kRowsPerCallMax);
}

TEST_F(ScanTest, ARowThatIsBeingDecidedIsWaitedForAndThenReadAgain) {
  for (int i = 0; i < 5; ++i) tablet.write(i, 10, {{1, "v"}});
  MemoryStore::Row& row = tablet.touch(3);
  tablet.active().prepare(row, {.since = 15, .two_phase = true});
  ScanRequest request = all({0, 1});
  request.timestamp = kAsyncLastCommitted;
  EXPECT_EQ(scan(request).size(), 5u);
  request.timestamp = kSyncLastCommitted;
  EXPECT_EQ(scan(request).back(), "timeout: undecided");
  tablet.undecided.decide = [&] {
    tablet.remove(3, 20);
    tablet.active().resolve(row, {.since = 15, .two_phase = true});
    tablet.flush();
  };
  EXPECT_EQ(scan(request), (Rows{"0 v", "1 v", "2 v", "4 v"}));
  EXPECT_EQ(tablet.statistics.scan.get(LookupStatistics::kWaits), 2u);
}

TEST_F(ScanTest, LongValuesComeFromTheirHunksAndFiltersOnThemHold) {
  const std::string a(500, 'a');
  const std::string b(500, 'b');
  tablet.write(1, 10, {{3, std::string_view(a)}});
  tablet.write(2, 10, {{3, std::string_view(b)}});
  tablet.write(3, 10, {{3, "short"}});
  tablet.flush();
  EXPECT_EQ(scan(all({0, 3})), (Rows{"1 " + a, "2 " + b, "3 short"}));
  ScanRequest request = all({0});
  request.filters.push_back(
      {.column = 3, .op = ColumnFilter::Op::kEqual, .value = Value(std::string_view(b))});
  EXPECT_EQ(scan(request), (Rows{"2"}));
}

TEST_F(ScanTest, TimestampsThatCannotBeReadAreRefused) {
  StoreSet::Change change;
  change.retained_timestamp = 50;
  tablet.stores.apply(std::move(change));
  ScanRequest request = all();
  request.timestamp = 49;
  EXPECT_EQ(scan(request), (Rows{"Timestamp 49 is less than tablet retained timestamp 50"}));
  request.timestamp = 60;
  request.retention_timestamp = 61;
  EXPECT_EQ(scan(request), (Rows{"Retention timestamp 61 is greater than read timestamp 60"}));
}

TEST_F(ScanTest, MergedCursorsReturnEachKeyOnceWithAllItsVersions) {
  std::vector<std::unique_ptr<MemoryStore>> stores;
  std::vector<std::unique_ptr<RowCursor>> cursors;
  for (int store = 0; store < 7; ++store) {
    stores.push_back(std::make_unique<MemoryStore>());
    for (int i = store; i < 1'000; i += store + 1) {
      const std::string key = key_of(i);
      MemoryStore::Row& row = stores.back()->touch(as_bytes(key), key_hash(as_bytes(key)));
      stores.back()->add(row, static_cast<Timestamp>(store + 1), ChangeKind::kDelete, {});
    }
    cursors.push_back(stores.back()->scan({}, ReadSpec{.all_versions = true}));
  }
  const std::unique_ptr<RowCursor> merged = merge_cursors(std::move(cursors));
  std::string last;
  std::size_t versions = 0;
  std::size_t rows = 0;
  while (merged->next() == RowCursor::Step::kRow) {
    EXPECT_LT(last, as_text(merged->row().key));
    last = as_text(merged->row().key);
    versions += merged->row().delete_timestamps.size();
    EXPECT_TRUE(std::ranges::is_sorted(merged->row().delete_timestamps, std::greater()));
    ++rows;
  }
  std::size_t expected = 0;
  for (const auto& store : stores) expected += store->rows();
  EXPECT_EQ(rows, 1'000u);
  EXPECT_EQ(versions, expected);
  EXPECT_EQ(merge_cursors({})->next(), RowCursor::Step::kEnd);
}

}  // namespace
}  // namespace moraine::table
