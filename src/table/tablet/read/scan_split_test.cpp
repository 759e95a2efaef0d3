#include "table/tablet/read/scan_split.h"

#include <algorithm>

#include "table/tablet/read/test_reader.h"

namespace moraine::table {
namespace {

struct ScanSplitTest : testing::Test {
  TestReader tablet;

  std::int64_t rows_of(const KeyBounds& bounds) {
    ScanRequest request;
    request.bounds = bounds;
    request.columns = {0};
    std::unique_ptr<TabletScan> scan = *tablet.reader.scan(std::move(request));
    std::int64_t rows = 0;
    ColumnBatch batch;
    for (auto step = scan->next(batch); *step != TabletScan::Step::kEnd; step = scan->next(batch)) {
      if (*step == TabletScan::Step::kNeedsData) {
        EXPECT_TRUE(tablet.run(scan->load()));
      } else {
        rows += static_cast<std::int64_t>(batch.rows);
      }
    }
    return rows;
  }

  // Rows of each part.
  std::vector<std::int64_t> parts_of(const KeyBounds& bounds, std::size_t parts) {
    const std::vector<std::string> keys = tablet.reader.split_keys(bounds, parts);
    EXPECT_LT(keys.size(), std::max<std::size_t>(parts, 1));
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    std::vector<std::int64_t> rows;
    std::string from = bounds.from;
    for (const std::string& key : keys) {
      EXPECT_GT(key, from);
      rows.push_back(rows_of({.from = from, .to = key}));
      from = key;
    }
    rows.push_back(rows_of({.from = from, .to = bounds.to}));
    return rows;
  }
};

TEST_F(ScanSplitTest, PartsHaveAboutEqualNumbersOfRowsAndMissNone) {
  for (int i = 0; i < 100'000; ++i) tablet.write(i, 10, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kScan, false);
  // Dense at the end, in another chunk.
  for (int i = 100'000; i < 150'000; ++i) tablet.write(i, 20, {{1, "later"}});
  tablet.flush(OptimizeFor::kLookup);
  for (const std::size_t parts : {2u, 3u, 7u}) {
    const std::vector<std::int64_t> rows = parts_of({}, parts);
    ASSERT_EQ(rows.size(), parts);
    std::int64_t sum = 0;
    for (const std::int64_t count : rows) {
      EXPECT_GT(count, 150'000 / static_cast<std::int64_t>(parts) * 2 / 3);
      sum += count;
    }
    EXPECT_EQ(sum, 150'000);
  }
  const KeyBounds middle{.from = key_of(40'000), .to = key_of(60'000)};
  const std::vector<std::int64_t> rows = parts_of(middle, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0] + rows[1], 20'000);
  EXPECT_GT(std::min(rows[0], rows[1]), 5'000);
}

TEST_F(ScanSplitTest, AFewRowsAreOnePart) {
  EXPECT_TRUE(tablet.reader.split_keys({}, 8).empty());
  tablet.write(1, 10, {{1, "a"}});
  EXPECT_TRUE(tablet.reader.split_keys({}, 8).empty());
  tablet.flush();
  tablet.write(2, 20, {{1, "b"}});
  std::int64_t sum = 0;
  for (const std::int64_t count : parts_of({}, 8)) sum += count;
  EXPECT_EQ(sum, 2);
  EXPECT_TRUE(tablet.reader.split_keys({}, 1).empty());
  EXPECT_TRUE(tablet.reader.split_keys({}, 0).empty());
}

}  // namespace
}  // namespace moraine::table
