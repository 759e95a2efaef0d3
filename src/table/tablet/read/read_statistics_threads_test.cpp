// Statistics of reads on several threads.

#include <thread>
#include <vector>

#include "table/tablet/read/test_reader.h"

namespace moraine::table {
namespace {

// A count overwritten by another thread would be missing in the sums.
TEST(ReadStatisticsThreads, FiguresOfLookupsAddUp) {
  TestReader tablet;
  for (int i = 0; i < 100; ++i) tablet.write(i, 10, {{1, "text"}});
  tablet.flush();
  const std::string key = key_of(7);
  const std::string_view keys[] = {key};
  const ColumnIndex columns[] = {0, 1};
  LookupRequest request;
  request.keys = keys;
  request.columns = columns;
  Rowset first;
  ASSERT_TRUE(tablet.run(tablet.reader.lookup(request, first))) << "into the cache";
  const ChunkReadCounters& counters = tablet.statistics.chunks.of(ReadKind::kLookup);
  const std::uint64_t before = counters.get(ChunkReadCounters::kFilterKeys);
  constexpr int kThreads = 4;
  constexpr std::uint64_t kLookups = 20'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Rowset rows;
        UnfinishedLookup left;
        for (std::uint64_t n = 0; n < kLookups; ++n) {
          EXPECT_TRUE(tablet.reader.try_lookup(request, rows, left));
          EXPECT_TRUE(left.keys.empty());
        }
      });
    }
  }
  EXPECT_EQ(counters.get(ChunkReadCounters::kFilterKeys), before + kThreads * kLookups);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kRows), 1 + kThreads * kLookups);
  EXPECT_EQ(tablet.statistics.lookup_duration.count(), 1 + kThreads * kLookups);
}

}  // namespace
}  // namespace moraine::table
