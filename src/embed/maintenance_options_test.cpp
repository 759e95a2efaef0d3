// Options that maintenance follows, through the public API.

#include <gtest/gtest.h>

#include "embed/test_database.h"

namespace moraine {
namespace {

class MaintenanceOptionsTest : public DatabaseTest {
 protected:
  // Of the present life of the table's tablet.
  std::uint64_t figure(const std::string& name) {
    const std::string text = db_->metrics();
    const std::string line = "\n" + name + "{table_path=\"/users\"} ";
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + line.size()));
  }
  std::uint64_t compactions() {
    expect_ok(db_->settle_table("/users"));
    return figure("moraine_table_compactions_total");
  }
  void make(const TableOptions& options) {
    expect_ok(db_->create_table("/users", users_schema(), options));
    const Table table = users();
    for (std::int64_t id = 0; id < 100; ++id) insert(table, {{"id", id}, {"name", "x"}});
    expect_ok(db_->flush_table("/users"));
    expect_ok(db_->settle_table("/users"));
  }
};

TEST_F(MaintenanceOptionsTest, AForcedCompactionRevisionRaisedByARemountCompactsAllChunks) {
  TableOptions options;
  make(options);
  const std::uint64_t before = compactions();
  options.mount.forced_compaction_revision = 1;
  expect_ok(db_->remount_table("/users", options.mount));
  EXPECT_EQ(compactions(), before + 1);
  expect_ok(db_->remount_table("/users", options.mount));
  EXPECT_EQ(compactions(), before + 1) << "it was not raised again";
  EXPECT_EQ(name_of(users(), 50), "x");
}

TEST_F(MaintenanceOptionsTest, AForcedCompactionRevisionRaisedWhileUnmountedCountsAfterRestarts) {
  TableOptions options;
  make(options);
  expect_ok(db_->unmount_table("/users"));
  options.mount.forced_compaction_revision = 1;
  expect_ok(db_->set_options("/users", options));
  reopen();
  expect_ok(db_->mount_table("/users"));
  EXPECT_EQ(compactions(), 1u);
  reopen();
  EXPECT_EQ(compactions(), 0u) << "the chunk is younger than the revision";
  EXPECT_EQ(name_of(users(), 50), "x");
}

TEST_F(MaintenanceOptionsTest, ChunksOfATableInMemoryAreNotReadFromTheDevice) {
  TableOptions options;
  options.in_memory_mode = TableMemory::kUncompressed;
  make(options);
  const std::string name =
      "yt_tablet_node_lookup_chunk_reader_statistics_data_bytes_read_from_disk_total";
  const std::uint64_t before = figure(name);
  for (std::int64_t id = 0; id < 100; ++id) EXPECT_EQ(name_of(users(), id), "x");
  EXPECT_EQ(figure(name), before);
}

}  // namespace
}  // namespace moraine
