#include <gtest/gtest.h>

#include "io/sim/switched_on.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class Flush : public testing::Test {
 protected:
  void open(MountConfig mount = {}, std::uint64_t seed = 1) {
    table = std::make_unique<TestTable>(seed, test_schema(), mount);
    table->boot();
  }
  void put_many(std::int64_t first, std::int64_t last, const std::string& text) {
    std::vector<RowChange> changes;
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table->rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    const auto written = table->write(std::move(changes));
    ASSERT_TRUE(written) << written.error().message();
  }

  std::unique_ptr<TestTable> table;
};

TEST_F(Flush, RowsAreReadFromChunksAfterIt) {
  open();
  put_many(0, 1'000, "flushed");
  table->flush();
  const TabletStatistics figures = table->tablet->statistics();
  EXPECT_EQ(figures.flushes, 1u);
  EXPECT_EQ(figures.chunks, 1u);
  EXPECT_EQ(figures.eden_chunks, 0u);
  EXPECT_EQ(table->get({{"k", 7}}), "k=7 v=flushed");
  EXPECT_EQ(table->all().size(), 1'000u);
}

TEST_F(Flush, OfAnEmptyTabletMakesNoChunk) {
  open();
  table->flush();
  EXPECT_EQ(table->tablet->statistics().chunks, 0u);
}

TEST_F(Flush, AllVersionsReachTheChunk) {
  open();
  const Timestamp first = table->put({{"k", 1}, {"v", "one"}});
  const Timestamp second = table->put({{"k", 1}, {"v", "two"}});
  const Timestamp gone = table->erase({{"k", 1}});
  table->put({{"k", 1}, {"v", "three"}});
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}, first), "k=1 v=one");
  EXPECT_EQ(table->get({{"k", 1}}, second), "k=1 v=two");
  EXPECT_EQ(table->get({{"k", 1}}, gone), "-");
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=three");
}

TEST_F(Flush, ItsChunksSurviveARestartAndACrash) {
  open();
  put_many(0, 100, "kept");
  table->flush();
  put_many(100, 200, "logged");
  table->restart();
  EXPECT_EQ(table->all().size(), 200u);
  EXPECT_EQ(table->get({{"k", 5}}), "k=5 v=kept");
  table->flush();
  table->crash();
  EXPECT_EQ(table->all().size(), 200u);
  EXPECT_EQ(table->get({{"k", 150}}), "k=150 v=logged");
}

TEST_F(Flush, AStoreThatIsFullIsFlushedByItself) {
  MountConfig mount;
  mount.max_dynamic_store_row_count = 100;
  open(mount);
  put_many(0, 150, "a");
  put_many(150, 160, "b");
  table->world.run(table->tablet->settle());
  EXPECT_GE(table->tablet->statistics().flushes, 1u);
  EXPECT_EQ(table->all().size(), 160u);
}

TEST_F(Flush, ARowThatWaitedForTheAutoFlushPeriodIsFlushed) {
  MountConfig mount;
  mount.dynamic_store_auto_flush_period = std::chrono::minutes(3);
  open(mount);
  table->put({{"k", 1}, {"v", "a"}});
  table->world.run_for(2min);
  EXPECT_EQ(table->tablet->statistics().flushes, 0u);
  table->world.run_for(2min);
  EXPECT_EQ(table->tablet->statistics().flushes, 1u);
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=a");
}

TEST_F(Flush, NothingIsFlushedByItselfWhenThatIsTurnedOff) {
  MountConfig mount;
  mount.enable_store_flush = false;
  mount.dynamic_store_auto_flush_period = std::chrono::seconds(1);
  open(mount);
  table->put({{"k", 1}, {"v", "a"}});
  table->world.run_for(1min);
  EXPECT_EQ(table->tablet->statistics().flushes, 0u);
}

TEST_F(Flush, RowsOfAPreparedTransactionStayUntilItsOutcomeIsKnown) {
  open();
  table->put({{"k", 1}, {"v", "old"}});
  const TabletWrite write = table->transaction({table->rows.put({{"k", 1}, {"v", "new"}})});
  ASSERT_TRUE(table->world.run(table->tablet->prepare(write, TestTable::info().id)));
  bool flushed = false;
  TaskScope scope;
  struct Call {
    static Task<void> flush(TableTablet& tablet, bool& done) {
      const auto result = co_await tablet.flush();
      done = result.has_value();
    }
  };
  scope.spawn(Call::flush(*table->tablet, flushed));
  table->world.run_for(1s);
  EXPECT_FALSE(flushed);
  const Timestamp commit = table->timestamps.draw();
  ASSERT_TRUE(table->world.run(table->tablet->commit_prepared(write.transaction, commit)));
  table->world.run_for(10s);
  EXPECT_TRUE(flushed);
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=new");
}

TEST_F(Flush, CachedRowsAreUpdatedByAFlush) {
  MountConfig mount;
  mount.lookup_cache_rows_per_tablet = 100;
  mount.enable_lookup_cache_by_default = true;
  open(mount);
  table->put({{"k", 1}, {"v", "one"}});
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=one");
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=one");
  EXPECT_GT(table->tablet->row_cache().statistics().hits, 0u);
  table->put({{"k", 1}, {"v", "two"}});
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=two");
}

TEST_F(Flush, TheSeededBugOfTheRowCacheIsSeen) {
  MountConfig mount;
  mount.lookup_cache_rows_per_tablet = 100;
  mount.enable_lookup_cache_by_default = true;
  table = std::make_unique<TestTable>(1, test_schema(), mount);
  const SwitchedOn bug(SeededBug::kRowCacheNotUpdated);
  table->boot();
  table->put({{"k", 1}, {"v", "one"}});
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=one");
  table->put({{"k", 1}, {"v", "two"}});
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=one");
}

TEST_F(Flush, TheRowCacheHasTheConfiguredShareOfRows) {
  MountConfig mount;
  mount.lookup_cache_rows_ratio = 0.1;
  open(mount);
  EXPECT_EQ(table->tablet->row_cache().rows_max(), 1u);
  put_many(0, 500, "a");
  table->flush();
  EXPECT_EQ(table->tablet->row_cache().rows_max(), 50u);
  put_many(500, 1'000, "a");
  table->flush();
  EXPECT_EQ(table->tablet->row_cache().rows_max(), 100u);
}

TEST_F(Flush, WithMergedRowsOldVersionsDoNotReachTheChunk) {
  MountConfig mount;
  mount.merge_rows_on_flush = true;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  open(mount);
  const Timestamp first = table->put({{"k", 1}, {"v", "one"}});
  table->put({{"k", 1}, {"v", "two"}});
  table->world.run_for(2s);
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "k=1 v=two");
  EXPECT_TRUE(table->get({{"k", 1}}, first).starts_with("error: "));
}

TEST_F(Flush, ATombstoneAboveAnOlderChunkReachesTheChunkEvenWithMergedRows) {
  MountConfig mount;
  mount.merge_rows_on_flush = true;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  mount.enable_compaction_and_partitioning = false;
  open(mount);
  table->put({{"k", 1}, {"v", "one"}});
  table->flush();
  table->erase({{"k", 1}});
  table->world.run_for(2s);
  table->flush();
  EXPECT_EQ(table->get({{"k", 1}}), "-");
}

TEST_F(Flush, InMemoryTablesReadNothingFromTheDevice) {
  table = std::make_unique<TestTable>(1);
  table->settings.in_memory_mode = InMemoryMode::kUncompressed;
  table->boot();
  put_many(0, 1'000, "a");
  table->flush();
  const std::uint64_t read =
      table->tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes);
  EXPECT_EQ(table->all().size(), 1'000u);
  EXPECT_EQ(table->get({{"k", 500}}), "k=500 v=a");
  EXPECT_EQ(table->tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes), read);
}

}  // namespace
}  // namespace moraine::table
