#include <gtest/gtest.h>

#include <set>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

MountConfig at_once() {
  MountConfig mount;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  return mount;
}

class Compaction : public testing::Test {
 protected:
  void open(MountConfig mount, std::uint64_t seed = 5) {
    table = std::make_unique<TestTable>(seed, test_schema(), mount);
    table->boot();
  }
  void put_many(std::int64_t first, std::int64_t last, const std::string& text,
                std::int64_t step = 1) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; key += step) {
      changes.push_back(table->rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    const auto written = table->write(std::move(changes));
    ASSERT_TRUE(written) << written.error().message();
  }
  void erase_many(std::int64_t first, std::int64_t last) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table->rows.erase({{"k", key}}));
    }
    ASSERT_TRUE(table->write(std::move(changes)));
  }
  void settle() { table->world.run(table->tablet->settle()); }
  TabletStatistics figures() const { return table->tablet->statistics(); }
  // Incompressible bytes.
  static std::string noise(std::size_t bytes, std::uint64_t seed) {
    SeededRandom random(seed);
    std::string text;
    while (text.size() < bytes) text += static_cast<char>('!' + random.next() % 90);
    return text;
  }

  std::unique_ptr<TestTable> table;
};

TEST_F(Compaction, MakesOneChunkOfAllAndKeepsEveryRow) {
  MountConfig mount;
  mount.enable_compaction_and_partitioning = false;
  open(mount);
  for (std::int64_t part = 0; part < 5; ++part) {
    put_many(part, 1'000, fmt::format("part{}", part), 5);
    table->flush();
  }
  EXPECT_EQ(figures().chunks, 5u);
  const auto before = table->all();
  table->compact();
  EXPECT_EQ(figures().chunks, 1u);
  EXPECT_EQ(table->all(), before);
  table->crash();
  EXPECT_EQ(figures().chunks, 1u);
  EXPECT_EQ(table->all(), before);
}

TEST_F(Compaction, SeveralSmallChunksAreMergedByThemselves) {
  open(at_once());
  for (std::int64_t part = 0; part < 8; ++part) {
    put_many(part, 800, "text", 8);
    table->flush();
  }
  settle();
  EXPECT_LT(figures().chunks, 4u);
  EXPECT_GT(figures().compactions, 0u);
  EXPECT_EQ(table->all().size(), 800u);
}

TEST_F(Compaction, ReadsThatBeganBeforeItContinueWithWhatTheyHold) {
  open(at_once());
  put_many(0, 5'000, "before");
  table->flush();
  ScanRequest request;
  request.columns = table->all_columns();
  auto scan = table->tablet->reader().scan(std::move(request));
  ASSERT_TRUE(scan) << scan.error().message();
  put_many(0, 5'000, "after");
  table->flush();
  table->world.run_for(2s);
  table->compact();
  table->world.run_for(10s);
  std::size_t rows = 0;
  ColumnBatch batch;
  for (;;) {
    const auto step = (*scan)->next(batch);
    ASSERT_TRUE(step) << step.error().message();
    if (*step == TabletScan::Step::kEnd) break;
    if (*step == TabletScan::Step::kNeedsData) {
      const auto loaded = table->world.run((*scan)->load());
      ASSERT_TRUE(loaded) << loaded.error().message();
      continue;
    }
    rows += batch.rows;
  }
  EXPECT_EQ(rows, 5'000u);
}

TEST_F(Compaction, ForcedCompactionRevisionCompactsWhatWasWrittenBefore) {
  open(at_once());
  put_many(0, 100, "one");
  table->flush();
  erase_many(0, 100);
  put_many(100, 110, "stays");
  table->flush();
  MountConfig mount = at_once();
  mount.forced_compaction_revision = 1;
  ASSERT_TRUE(table->tablet->remount(mount));
  settle();
  EXPECT_GE(figures().compactions, 1u);
  EXPECT_EQ(figures().unmerged_rows, 10u);
  const std::uint64_t done = figures().compactions;
  ASSERT_TRUE(table->tablet->remount(mount));
  settle();
  EXPECT_EQ(figures().compactions, done);
}

TEST_F(Compaction, AutoCompactionPeriodCompactsEveryChunkInTime) {
  MountConfig mount;
  mount.auto_compaction_period = 1h;
  mount.dynamic_store_auto_flush_period = std::chrono::hours(1'000);
  open(mount);
  put_many(0, 100, "one");
  table->flush();
  table->world.run_for(50min);
  EXPECT_EQ(figures().compactions, 0u);
  table->world.run_for(40min);
  EXPECT_EQ(figures().compactions, 1u);
  EXPECT_EQ(table->all().size(), 100u);
}

TEST_F(Compaction, DataInRandomOrderIsPartitionedAndEachKeyIsFound) {
  MountConfig mount = at_once();
  mount.min_partition_data_size = 30'000;
  mount.desired_partition_data_size = 80'000;
  mount.max_partition_data_size = 100'000;
  mount.compaction_data_size_base = 5'000;
  open(mount);
  for (std::int64_t round = 0; round < 12; ++round) {
    std::vector<RowChange> changes;
    std::vector<std::string> texts;
    for (std::int64_t key = round; key < 2'400; key += 12) {
      texts.push_back(noise(150, static_cast<std::uint64_t>(key)));
    }
    std::size_t next = 0;
    for (std::int64_t key = round; key < 2'400; key += 12) {
      changes.push_back(table->rows.put({{"k", key}, {"v", std::string_view(texts[next++])}}));
    }
    ASSERT_TRUE(table->write(std::move(changes)));
    table->flush();
  }
  settle();
  EXPECT_GT(figures().partitions, 2u);
  EXPECT_EQ(table->all().size(), 2'400u);
  for (const std::int64_t key : {0, 777, 2'399}) {
    const std::string text = noise(150, static_cast<std::uint64_t>(key));
    EXPECT_EQ(table->get({{"k", key}}), fmt::format("k={} v={}", key, text));
  }
  table->crash();
  EXPECT_GT(figures().partitions, 2u);
  EXPECT_EQ(table->all().size(), 2'400u);
}

// Appends at growing keys, deletes at the old end.
TEST_F(Compaction, AQueueKeepsItsSizeAndItsFirstRowsStayNear) {
  open(at_once());
  constexpr std::int64_t kLive = 1'000;
  constexpr std::int64_t kStep = 250;
  std::uint64_t live_bytes = 0;
  std::uint64_t most = 0;
  for (std::int64_t end = kStep; end <= 30 * kLive; end += kStep) {
    put_many(end - kStep, end, noise(100, 9));
    if (end > kLive) erase_many(end - kLive - kStep, end - kLive);
    table->world.run_for(1s);
    table->flush();
    settle();
    if (end == kLive) live_bytes = figures().uncompressed_bytes;
    if (end > 2 * kLive) most = std::max(most, figures().uncompressed_bytes);
  }
  EXPECT_LT(most, 2 * live_bytes);
  EXPECT_EQ(table->all().size(), static_cast<std::size_t>(kLive));
  EXPECT_LT(figures().unmerged_rows, 2u * kLive);
}

TEST_F(Compaction, SpaceOfOverwrittenRowsIsFreed) {
  open(at_once());
  for (int round = 0; round < 10; ++round) {
    put_many(0, 500, noise(100, 1));
    table->world.run_for(1s);
    table->flush();
  }
  settle();
  EXPECT_EQ(figures().unmerged_rows, 500u);
  EXPECT_EQ(figures().chunks, 1u);
}

// A cached row refers to hunks of columns that were not requested yet.
TEST_F(Compaction, CachedRowsOutliveTheHunksThatTheyReferTo) {
  TableSchema schema = test_schema();
  schema.columns[1].max_inline_hunk_size = 100;
  MountConfig mount = at_once();
  mount.lookup_cache_rows_per_tablet = 1'000;
  mount.enable_lookup_cache_by_default = true;
  table = std::make_unique<TestTable>(5, std::move(schema), mount);
  table->boot();
  put_many(0, 20, noise(5'000, 3));
  table->flush();
  const std::string key = table->rows.key({{"k", 7}});
  const std::string_view keys[] = {key};
  const ColumnIndex columns[] = {0, 3};
  LookupRequest request;
  request.keys = keys;
  request.columns = columns;
  Rowset found;
  ASSERT_TRUE(table->lookup(request, found));
  ASSERT_TRUE(found.exists(0));
  erase_many(0, 7);
  erase_many(8, 20);
  table->world.run_for(2s);
  table->flush();
  table->world.run_for(1min);
  table->compact();
  table->world.run_for(1min);
  EXPECT_EQ(table->get({{"k", 7}}), "k=7 v=" + noise(5'000, 3));
}

TEST_F(Compaction, StoppingInTheMiddleLosesNothing) {
  open(at_once());
  for (int round = 0; round < 6; ++round) {
    put_many(round, 3'000, noise(50, 2), 6);
    table->flush();
  }
  // A forced compaction is under way when the tablet stops.
  MountConfig mount = at_once();
  mount.forced_compaction_revision = 7;
  ASSERT_TRUE(table->tablet->remount(mount));
  table->world.run_for(1ms);
  table->restart();
  EXPECT_EQ(table->all().size(), 3'000u);
}

TEST_F(Compaction, CrashesAtRandomMomentsLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    open(at_once(), seed);
    SeededRandom random(seed);
    std::set<std::int64_t> live;
    for (int round = 0; round < 12; ++round) {
      const std::int64_t first = static_cast<std::int64_t>(random.next() % 500);
      if (random.next() % 3 == 0) {
        erase_many(first, first + 100);
        for (std::int64_t key = first; key < first + 100; ++key) live.erase(key);
      } else {
        put_many(first, first + 200, fmt::format("r{}", round));
        for (std::int64_t key = first; key < first + 200; ++key) live.insert(key);
      }
      MountConfig mount = at_once();
      mount.max_dynamic_store_row_count = 100;
      mount.forced_compaction_revision = static_cast<std::uint64_t>(round) + 1;
      ASSERT_TRUE(table->tablet->remount(mount));
      table->world.run_for(std::chrono::microseconds(random.next() % 20'000));
      if (random.next() % 3 == 0) table->crash();
      ASSERT_EQ(table->all().size(), live.size()) << seed << ' ' << round;
    }
  }
}

}  // namespace
}  // namespace moraine::table
