// Tablets that take over chunks of others, in the same group or not.
#include <gtest/gtest.h>

#include "node/tables_model/test_tables.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

TableSchema schema_with_hunks() {
  TableSchema schema = small_schema();
  schema.columns[1].max_inline_hunk_size = 10;
  return schema;
}

class StoredTablesReshardTest : public testing::Test {
 protected:
  StoredTablesReshardTest() : tables_(3) {
    NewTable table;
    table.schema = schema_with_hunks();
    expect_ok(tables_.run(tables_.tables().create(TestTables::kPath, std::move(table))));
    auto layout = table::RowLayout::make(std::make_shared<const TableSchema>(schema_with_hunks()));
    INVARIANT(layout, "{}", layout.error().message());
    layout_ = *layout;
  }
  void expect_ok(const Result<void>& done) { EXPECT_TRUE(done) << done.error().message(); }
  Result<Timestamp> write_from(Timestamp start, std::int64_t from, std::int64_t to) {
    table::ChangeSet changes(layout_);
    for (std::int64_t k = from; k < to; ++k) {
      const std::string text = text_of(k);
      const NamedValue row[] = {{"k", Value(k)}, {"v", Value(std::string_view(text))}};
      expect_ok(changes.insert(row));
    }
    return tables_.commit(changes, start);
  }
  void write(std::int64_t from, std::int64_t to) {
    const auto committed = write_from(tables_.now(), from, to);
    EXPECT_TRUE(committed) << committed.error().message();
  }
  static std::string text_of(std::int64_t k) {
    return std::string(static_cast<std::size_t>(k % 30), 'x') + std::to_string(k);
  }
  static std::string key(std::int64_t k) {
    const Value value(k);
    return table::encode_key(std::span(&value, 1));
  }
  void expect_rows(std::int64_t to) {
    for (std::int64_t k = 0; k < to; ++k) {
      const auto found = tables_.lookup({key(k)}, {0, 1}, kSyncLastCommitted);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_TRUE((*found)[0]) << k;
      EXPECT_EQ((*(*found)[0])[1].text(), text_of(k));
    }
  }
  void reshard(std::vector<std::string> pivots) {
    StoredTables& tables = tables_.tables();
    expect_ok(tables_.run(tables.unmount(TestTables::kPath)));
    expect_ok(tables_.run(tables.reshard(TestTables::kPath, std::move(pivots))));
    expect_ok(tables_.run(tables.mount(TestTables::kPath, MountState::kMounted)));
  }

  std::vector<table::TabletStatistics> figures() {
    auto statistics = tables_.run(tables_.tables().figures(TestTables::kPath));
    EXPECT_TRUE(statistics) << statistics.error().message();
    return statistics ? std::move(*statistics) : std::vector<table::TabletStatistics>();
  }

  TestTables tables_;
  std::shared_ptr<const table::RowLayout> layout_;
};

TEST_F(StoredTablesReshardTest, TabletsInAnotherGroupReadWhatTheyTookOver) {
  write(0, 100);
  reshard({key(30), key(60)});
  const auto open = tables_.open();
  ASSERT_EQ(open->ranges.size(), 3u);
  EXPECT_NE(open->ranges[0].running->info().latest_group(kLogChannel),
            open->ranges[1].running->info().latest_group(kLogChannel))
      << "tablets take groups by turns";
  expect_rows(100);
}

TEST_F(StoredTablesReshardTest, TabletsTakeOverWhatOthersHadTakenOver) {
  write(0, 100);
  reshard({key(30), key(60)});
  reshard({key(10), key(20), key(45), key(70)});
  expect_rows(100);
  reshard({});
  expect_rows(100);
  tables_.cut_power();
  expect_rows(100);
}

TEST_F(StoredTablesReshardTest, ReplacedTabletsAreDeletedOnceTheirBlobsAreNotNeeded) {
  write(0, 100);
  reshard({key(30), key(60)});
  EXPECT_EQ(tables_.tables().find(TestTables::kPath)->record().retired.size(), 1u);
  expect_ok(tables_.compact());
  tables_.world().run_for(4 * kRetiredPeriod);
  EXPECT_TRUE(tables_.tables().find(TestTables::kPath)->record().retired.empty());
  tables_.restart();
  expect_rows(100);
}

TEST_F(StoredTablesReshardTest, ATransactionThatBeganBeforeMeetsWhatWasCommittedInTheOldTablets) {
  write(0, 100);
  const Timestamp start = tables_.now();
  write(10, 20);
  reshard({key(30), key(60)});
  EXPECT_EQ(write_from(start, 10, 11).error().code, Errc::kAborted);
  tables_.cut_power();
  EXPECT_EQ(write_from(start, 10, 11).error().code, Errc::kAborted);
  EXPECT_TRUE(write_from(tables_.now(), 10, 11));
}

TEST_F(StoredTablesReshardTest, VersionsThatTheOldTabletsHaveDroppedAreNotReadAsIfTheyWereThere) {
  TableMountOptions options;
  options.min_data_ttl = options.max_data_ttl = std::chrono::milliseconds(0);
  expect_ok(tables_.run(tables_.tables().remount(TestTables::kPath, options)));
  write(0, 10);
  const Timestamp past = tables_.now();
  tables_.world().run_for(10s);
  write(0, 10);
  tables_.world().run_for(10s);
  write(5, 6);
  expect_ok(tables_.flush());
  expect_ok(tables_.compact());
  ASSERT_FALSE(tables_.lookup({key(1)}, {0, 1}, past)) << "its version was dropped";
  reshard({key(5)});
  EXPECT_FALSE(tables_.lookup({key(1)}, {0, 1}, past));
  tables_.cut_power();
  EXPECT_FALSE(tables_.lookup({key(1)}, {0, 1}, past));
  expect_rows(10);
}

TEST_F(StoredTablesReshardTest, CallsOfReplacedTabletsFailWithNotFound) {
  write(0, 100);
  const TabletId old = tables_.open()->ranges[0].tablet;
  EXPECT_EQ(tables_.send_commit(old).error().code, Errc::kNotFound) << "it is not prepared";
  reshard({key(30)});
  EXPECT_EQ(tables_.send_commit(old).error().code, Errc::kNotFound);
  const TabletId fresh = tables_.open()->ranges[0].tablet;
  expect_ok(tables_.run(tables_.tables().unmount(TestTables::kPath)));
  EXPECT_EQ(tables_.send_commit(fresh).error().code, Errc::kNotHere) << "it will run again";
}

TEST_F(StoredTablesReshardTest, TabletsThatShareAChunkReportTheirPartsOfIt) {
  write(0, 1'000);
  expect_ok(tables_.flush());
  const auto whole = figures();
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_EQ(whole[0].unmerged_rows, 1'000u);
  ASSERT_EQ(whole[0].chunks, 1u);
  TableMountOptions options;
  options.enable_compaction_and_partitioning = false;
  expect_ok(tables_.run(tables_.tables().remount(TestTables::kPath, options)));
  reshard({key(100), key(600)});
  const auto parts = figures();
  ASSERT_EQ(parts.size(), 3u);
  const std::uint64_t expected[] = {100, 500, 400};
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(parts[i].unmerged_rows), static_cast<double>(expected[i]), 60);
    rows += parts[i].unmerged_rows;
    bytes += parts[i].compressed_bytes + parts[i].hunk_bytes;
  }
  EXPECT_NEAR(static_cast<double>(rows), 1'000, 3);
  EXPECT_LE(bytes, whole[0].compressed_bytes + whole[0].hunk_bytes + 10);
}

TEST_F(StoredTablesReshardTest, StatisticsOfAnUnmountedTableAreReadFromItsTablets) {
  write(0, 100);
  StoredTables& tables = tables_.tables();
  expect_ok(tables_.run(tables.unmount(TestTables::kPath)));
  ASSERT_EQ(figures().size(), 1u);
  EXPECT_EQ(figures()[0].unmerged_rows, 100u);
  EXPECT_EQ(figures()[0].memory_bytes, 0u);
  expect_ok(tables_.run(tables.reshard(TestTables::kPath, std::vector{key(50)})));
  ASSERT_EQ(figures().size(), 2u);
  EXPECT_NEAR(static_cast<double>(figures()[0].unmerged_rows), 50, 10);
  tables_.restart();
  ASSERT_EQ(figures().size(), 2u);
  EXPECT_NEAR(static_cast<double>(figures()[1].unmerged_rows), 50, 10);
  expect_ok(tables_.run(tables_.tables().mount(TestTables::kPath, MountState::kMounted)));
  expect_rows(100);
}

TEST_F(StoredTablesReshardTest, TablesAreReadableWhenWaitRunningHasEnded) {
  write(0, 10);
  tables_.restart();
  expect_rows(10);
}

}  // namespace
}  // namespace moraine
