// Options of background maintenance, through the public API.

#include <gtest/gtest.h>

#include "embed/test_database.h"

namespace moraine {
namespace {

class MaintenanceOptionsTest : public DatabaseTest {
 protected:
  // Counted since the table's tablet was last mounted.
  std::uint64_t metric(const std::string& name) {
    const std::string text = db_->run(db_->metrics());
    const std::string line = "\n" + name + "{table_path=\"/users\"} ";
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + line.size()));
  }
  std::uint64_t compactions() {
    expect_ok(db_->run(db_->settle_table("/users")));
    return metric("moraine_table_compactions_total");
  }
  void make(const TableOptions& options) {
    expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
    const Table table = users();
    for (std::int64_t id = 0; id < 100; ++id) insert(table, {{"id", id}, {"name", "x"}});
    expect_ok(db_->run(db_->flush_table("/users")));
    expect_ok(db_->run(db_->settle_table("/users")));
  }
};

TEST_F(MaintenanceOptionsTest, AForcedCompactionRevisionCompactsAllChunksEachTimeItIsGiven) {
  TableOptions options;
  make(options);
  const std::uint64_t before = compactions();
  options.mount.forced_compaction_revision = 1;
  expect_ok(db_->run(db_->remount_table("/users", options.mount)));
  EXPECT_EQ(compactions(), before + 1);
  insert(users(), {{"id", 7}, {"name", "y"}});
  expect_ok(db_->run(db_->flush_table("/users")));
  const std::uint64_t between = compactions();
  expect_ok(db_->run(db_->remount_table("/users", options.mount)));
  EXPECT_GT(compactions(), between) << "the same value again";
  EXPECT_EQ(name_of(users(), 50), "x");
  EXPECT_EQ(name_of(users(), 7), "y");
}

TEST_F(MaintenanceOptionsTest, OptionsThatWereReadAndSetAgainOrderNoCompaction) {
  TableOptions options;
  options.mount.forced_compaction_revision = 1;
  make(options);
  const std::uint64_t before = compactions();
  auto report = db_->run(db_->describe_table("/users"));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->forced_compaction_revision, 1u);
  report->options.mount.max_data_versions = 3;
  expect_ok(db_->run(db_->remount_table("/users", report->options.mount)));
  EXPECT_EQ(compactions(), before);
  EXPECT_EQ(db_->run(db_->describe_table("/users"))->forced_compaction_revision, 1u);
}

TEST_F(MaintenanceOptionsTest, AttributesAreSetByNameAndWaitForARemount) {
  make({});
  const std::uint64_t before = compactions();
  expect_ok(db_->run(db_->set_attributes("/users", {{"forced_compaction_revision", "1"},
                                                    {"compression_codec", "zstd_3"},
                                                    {"optimize_for", "scan"}})));
  auto report = db_->run(db_->describe_table("/users"));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->remount_needed);
  EXPECT_EQ(report->options.compression_codec, "zstd_3");
  EXPECT_EQ(compactions(), before);
  reopen();
  EXPECT_TRUE(db_->run(db_->describe_table("/users"))->remount_needed);
  EXPECT_EQ(compactions(), 0u);
  expect_ok(db_->run(db_->remount_table("/users")));
  EXPECT_EQ(compactions(), 1u);
  EXPECT_FALSE(db_->run(db_->describe_table("/users"))->remount_needed);
  EXPECT_EQ(name_of(users(), 50), "x");
  const auto unknown =
      db_->run(db_->set_attributes("/users", {{"backing_store_retention_time", "1"}}));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Errc::kUnsupported);
}

TEST_F(MaintenanceOptionsTest, NewChunksAreWrittenByTheOptionsOfTheLastRemount) {
  TableOptions options;
  options.compression_codec = "none";
  make(options);
  const auto disk_bytes = [this] {
    expect_ok(db_->run(db_->compact_table("/users")));
    return db_->run(db_->describe_table("/users"))->tablets[0].disk_bytes;
  };
  const std::uint64_t plain = disk_bytes();
  options.compression_codec = "zlib_9";
  expect_ok(db_->run(db_->set_options("/users", options)));
  EXPECT_GE(disk_bytes(), plain) << "stored is not applied";
  expect_ok(db_->run(db_->remount_table("/users")));
  EXPECT_LT(disk_bytes(), plain);
}

TEST_F(MaintenanceOptionsTest, LookupsInMemoryHaveADurationToo) {
  make({});
  const std::uint64_t before = metric("yt_tablet_node_lookup_duration_count");
  insert(users(), {{"id", 500}, {"name", "hot"}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(name_of(users(), 500), "hot");
  EXPECT_EQ(metric("yt_tablet_node_lookup_duration_count"), before + 10);
}

TEST_F(MaintenanceOptionsTest, TablesInMemoryShowHowFarTheyAre) {
  TableOptions options;
  options.in_memory_mode = InMemoryMode::kCompressed;
  make(options);
  const auto report = db_->run(db_->describe_table("/users"));
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->preload_state, "complete");
  EXPECT_GT(report->tablets[0].preload_completed_chunks, 0u);
  EXPECT_GT(metric("moraine_table_preload_completed_chunks"), 0u);
  const std::string text = db_->run(db_->metrics());
  EXPECT_NE(text.find("\nmoraine_block_cache_pinned_bytes_max 1073741824\n"), std::string::npos);
}

TEST_F(MaintenanceOptionsTest, AForcedCompactionRevisionRaisedWhileUnmountedCountsAfterRestarts) {
  TableOptions options;
  make(options);
  expect_ok(db_->run(db_->unmount_table("/users")));
  options.mount.forced_compaction_revision = 1;
  expect_ok(db_->run(db_->set_options("/users", options)));
  reopen();
  expect_ok(db_->run(db_->mount_table("/users")));
  EXPECT_EQ(compactions(), 1u);
  reopen();
  EXPECT_EQ(compactions(), 0u) << "the chunk is younger than the revision";
  EXPECT_EQ(name_of(users(), 50), "x");
}

TEST_F(MaintenanceOptionsTest, ChunksOfATableInMemoryAreNotReadFromTheDevice) {
  TableOptions options;
  options.in_memory_mode = InMemoryMode::kUncompressed;
  make(options);
  const std::string name =
      "yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_read_from_disk_total";
  const std::uint64_t before = metric(name);
  for (std::int64_t id = 0; id < 100; ++id) EXPECT_EQ(name_of(users(), id), "x");
  EXPECT_EQ(metric(name), before);
}

}  // namespace
}  // namespace moraine
