#include "table/cache/row_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "base/epoch.h"

namespace moraine::table {
namespace {

using Timestamps = std::vector<Timestamp>;

std::uint64_t hash_of(std::string_view key) {
  return std::hash<std::string_view>()(key);
}

struct TestRow {
  std::string key;
  RowBuilder row;

  explicit TestRow(std::string name) : key(std::move(name)) {}
  VersionedRow view() const {
    VersionedRow view = row.row();
    view.key = as_bytes(key);
    return view;
  }
  TestRow& write(Timestamp timestamp) {
    row.write_timestamps.push_back(timestamp);
    return *this;
  }
  TestRow& erase(Timestamp timestamp) {
    row.delete_timestamps.push_back(timestamp);
    return *this;
  }
  TestRow& value(ColumnIndex column, Timestamp timestamp, Value value, bool delta = false) {
    row.values.push_back({value, timestamp, column, delta});
    return *this;
  }
};

class RowCacheTest : public testing::Test {
 protected:
  RowCacheTest() { cache_.set_rows_max(100); }

  void insert(const TestRow& row, std::uint64_t revision = 1) {
    cache_.insert(row.view(), hash_of(row.key), revision);
  }
  bool find(std::string_view key, const ReadSpec& spec = {}) {
    out_.clear();
    return cache_.find(as_bytes(key), hash_of(key), spec, out_);
  }
  void update(const TestRow& row) { cache_.update(row.view(), hash_of(row.key)); }

  SlabMemory memory_{std::size_t{1} << 20};
  RowCache cache_{memory_};
  RowBuilder out_;
};

TEST_F(RowCacheTest, ReturnsEveryTypeOfValue) {
  TestRow row("k");
  row.write(10).value(0, 10, Value()).value(1, 10, -5).value(2, 10, 5U).value(3, 10, 1.5);
  row.value(4, 10, true).value(5, 10, "text").value(6, 10, Value::any("{a=1}"));
  row.row.values.back().hunk = true;
  insert(row);
  const EpochGuard guard;
  ASSERT_TRUE(find("k"));
  ASSERT_EQ(out_.values.size(), row.row.values.size());
  for (std::size_t i = 0; i < out_.values.size(); ++i) {
    EXPECT_EQ(out_.values[i].value, row.row.values[i].value);
    EXPECT_EQ(out_.values[i].column, i);
    EXPECT_EQ(out_.values[i].timestamp, 10U);
    EXPECT_EQ(out_.values[i].hunk, i == 6);
  }
  EXPECT_EQ(as_text(out_.key), "k");
  EXPECT_EQ(out_.write_timestamps, (Timestamps{10}));
}

TEST_F(RowCacheTest, HunksThatWereReadTakeThePlaceOfTheirReferences) {
  const std::string reference(36, 'r');
  const std::string other(36, 'o');
  TestRow row("k");
  row.write(10).value(1, 10, reference).value(2, 10, reference).value(3, 10, other);
  row.value(4, 10, Value::any(reference));
  for (const std::size_t hunk : {0, 2, 3}) row.row.values[hunk].hunk = true;
  insert(row);
  const std::string bytes(5'000, 'b');
  cache_.keep_hunk(as_bytes("k"), hash_of("k"), as_bytes(reference), bytes);
  cache_.keep_hunk(as_bytes("gone"), hash_of("gone"), as_bytes(reference), bytes);
  const EpochGuard guard;
  ASSERT_TRUE(find("k"));
  EXPECT_EQ(out_.values[0].value, Value(bytes));
  EXPECT_FALSE(out_.values[0].hunk);
  EXPECT_EQ(out_.values[1].value, Value(reference)) << "a text that only looks like a reference";
  EXPECT_EQ(out_.values[2].value, Value(other));
  EXPECT_TRUE(out_.values[2].hunk);
  EXPECT_EQ(out_.values[3].value, Value::any(bytes));
}

TEST_F(RowCacheTest, AHunkForWhichThereIsNoMemoryStaysAReference) {
  TestRow row("k");
  const std::string reference(36, 'r');
  row.write(10).value(1, 10, reference);
  row.row.values.back().hunk = true;
  insert(row);
  cache_.keep_hunk(as_bytes("k"), hash_of("k"), as_bytes(reference),
                   std::string(kCachedRowBytesMax + 1, 'b'));
  const EpochGuard guard;
  ASSERT_TRUE(find("k"));
  EXPECT_TRUE(out_.values[0].hunk);
}

TEST_F(RowCacheTest, ALookupThatLooksAgainIsCountedOnce) {
  const EpochGuard guard;
  EXPECT_FALSE(find("k"));
  EXPECT_FALSE(cache_.find(as_bytes("k"), hash_of("k"), {}, out_, RowCache::Look::kAgain));
  EXPECT_EQ(cache_.statistics().misses, 1u);
}

TEST_F(RowCacheTest, ReturnsWhatTheReaderRequests) {
  TestRow row("k");
  row.write(40).write(30).write(20).write(10).erase(15);
  row.value(1, 40, 140, true).value(1, 30, 130).value(1, 20, 120);
  row.value(2, 20, 220).value(2, 10, 210).value(3, 10, 310);
  insert(row);
  const EpochGuard guard;
  ASSERT_TRUE(find("k"));
  EXPECT_EQ(out_.write_timestamps, (Timestamps{40}));
  EXPECT_EQ(out_.delete_timestamps, (Timestamps{15}));
  ASSERT_EQ(out_.values.size(), 3U);  // The delta, the full value below it, column 2.
  EXPECT_EQ(out_.values[1].value, Value(130));
  EXPECT_EQ(out_.values[2].value, Value(220));

  ASSERT_TRUE(find("k", {.timestamp = 16}));
  EXPECT_TRUE(out_.write_timestamps.empty());
  EXPECT_EQ(out_.delete_timestamps, (Timestamps{15}));
  EXPECT_TRUE(out_.values.empty());

  ColumnSet columns = ColumnSet::none(4);
  columns.add(2);
  ASSERT_TRUE(find("k", {.timestamp = 30, .all_versions = true, .columns = &columns}));
  EXPECT_EQ(out_.write_timestamps, (Timestamps{30, 20, 10}));
  ASSERT_EQ(out_.values.size(), 2U);
  EXPECT_EQ(out_.values[1].value, Value(210));

  ASSERT_TRUE(find("k", {.timestamp = 5}));
  EXPECT_TRUE(out_.empty());
}

TEST_F(RowCacheTest, RowsOfOlderRevisionsAreRefusedOnceAFlushBegan) {
  const TestRow row = TestRow("k").write(10);
  cache_.begin_flush(2);
  insert(row, 1);
  EXPECT_FALSE(find("k"));
  insert(row, 2);
  const EpochGuard guard;
  EXPECT_TRUE(find("k"));
}

TEST_F(RowCacheTest, AFlushedRowIsMergedIntoTheCachedOne) {
  insert(TestRow("k").write(10).value(1, 10, "old"));
  cache_.begin_flush(2);
  update(TestRow("k").write(20).value(1, 20, "new").value(2, 20, 5));
  update(TestRow("other").write(20));
  const EpochGuard guard;
  ASSERT_TRUE(find("k", {.all_versions = true}));
  EXPECT_EQ(out_.write_timestamps, (Timestamps{20, 10}));
  ASSERT_EQ(out_.values.size(), 3U);
  EXPECT_EQ(out_.values[0].value, Value("new"));
  EXPECT_EQ(out_.values[1].value, Value("old"));
  EXPECT_FALSE(find("other"));
  EXPECT_EQ(cache_.statistics().rows, 1U);
}

TEST_F(RowCacheTest, WithoutMemoryAnUpdatedRowIsOutdatedUntilItIsReadAgain) {
  insert(TestRow("k").write(10).value(1, 10, "old"));
  constexpr std::size_t kLarge = 40'000;
  std::vector<std::pair<void*, std::size_t>> items;
  for (const std::size_t bytes : {kLarge, std::size_t{384}}) {
    while (void* item = memory_.allocate(bytes)) items.emplace_back(item, bytes);
  }
  cache_.begin_flush(2);
  const std::string text(200, 'x');
  const TestRow flushed = TestRow("k").write(20).value(1, 20, Value(std::string_view(text)));
  update(flushed);
  EXPECT_FALSE(find("k"));
  EXPECT_EQ(cache_.statistics().outdated, 1U);
  EXPECT_EQ(cache_.statistics().misses, 0U);
  insert(flushed, 2);  // No memory either.
  EXPECT_FALSE(find("k"));
  EXPECT_EQ(cache_.statistics().rows, 1U);

  for (const auto& [item, bytes] : items) memory_.free(item, bytes);
  insert(flushed, 2);
  const EpochGuard guard;
  EXPECT_TRUE(find("k"));
  EXPECT_EQ(cache_.statistics().rows, 1U);
}

TEST_F(RowCacheTest, KeepsTheNumberOfRowsAndThoseInUse) {
  cache_.set_rows_max(10);
  for (int i = 0; i < 200; ++i) {
    insert(TestRow("key" + std::to_string(i)).write(10));
    EXPECT_LE(cache_.statistics().rows, 10U);
    const EpochGuard guard;
    ASSERT_TRUE(find("key0"));
  }
  EXPECT_EQ(cache_.statistics().evicted, 190U);
  EXPECT_EQ(cache_.statistics().hits, 200U);
  cache_.set_rows_max(3);
  EXPECT_EQ(cache_.statistics().rows, 3U);
}

TEST_F(RowCacheTest, RowsMaxOfZeroTurnsItOff) {
  insert(TestRow("k").write(10));
  cache_.set_rows_max(0);
  EXPECT_EQ(cache_.statistics().rows, 0U);
  insert(TestRow("k").write(10));
  EXPECT_FALSE(find("k"));
  cache_.set_rows_max(10);
  EXPECT_FALSE(find("k"));
}

TEST_F(RowCacheTest, ARowThatGathersManyVersionsIsReadAgain) {
  insert(TestRow("k").write(1));
  for (std::size_t i = 2; i <= kCachedVersionsMax; ++i) update(TestRow("k").write(i));
  EXPECT_EQ(cache_.statistics().rows, 1U);
  update(TestRow("k").write(kCachedVersionsMax + 1));
  EXPECT_EQ(cache_.statistics().rows, 0U);
}

TEST_F(RowCacheTest, FindsAllOfManyRows) {
  constexpr std::size_t kRows = 3'000;
  cache_.set_rows_max(kRows);
  for (std::size_t i = 0; i < kRows; ++i) insert(TestRow("key" + std::to_string(i)).write(i + 1));
  const EpochGuard guard;
  for (std::size_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(find("key" + std::to_string(i)));
    EXPECT_EQ(out_.write_timestamps, (Timestamps{i + 1}));
  }
  EXPECT_EQ(cache_.statistics().inserts, kRows);
}

TEST_F(RowCacheTest, ARowOfAYoungerViewIsNotForReadersOfAnOlderOne) {
  insert(TestRow("r").write(20).value(1, 20, 15), 2);
  const auto found_at = [&](std::uint64_t revision) {
    out_.clear();
    return cache_.find(as_bytes("r"), hash_of("r"), {}, out_, RowCache::Look::kFirst, revision);
  };
  EXPECT_FALSE(found_at(1)) << "its delta of 20 is still in memory there";
  EXPECT_TRUE(found_at(2));
  update(TestRow("r").write(30).value(1, 30, 16));
  EXPECT_FALSE(found_at(1));
  EXPECT_TRUE(found_at(2));
  EXPECT_TRUE(found_at(3));
}

}  // namespace
}  // namespace moraine::table
