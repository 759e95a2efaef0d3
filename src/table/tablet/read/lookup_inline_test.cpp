// Lookups whose blocks are read on the caller's thread, on a simulated machine.

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr std::int64_t kRows = 2'000;

class LookupHere : public testing::Test {
 protected:
  LookupHere() {
    MountConfig mount;
    mount.enable_compaction_and_partitioning = false;
    table_ = std::make_unique<TestTable>(7, test_schema(), mount, 1u << 20);
    table_->settings.chunks.codec = *parse_codec("none");
    table_->settings.chunks.block_bytes = 512;
    table_->boot();
    std::vector<RowChange> changes;
    for (std::int64_t key = 0; key < kRows; ++key) {
      const std::string text = value_of(key);
      changes.push_back(table_->rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    const auto written = table_->write(std::move(changes));
    EXPECT_TRUE(written) << written.error().message();
    table_->flush();
  }

  static std::string value_of(std::int64_t key) { return fmt::format("value of {:06}.", key); }
  static std::string row_of(std::int64_t key) {
    return fmt::format("k={} v={}", key, value_of(key));
  }
  // What a blocking thread finds without the executor: no time passes.
  struct Found {
    std::vector<std::string> rows;  // "?": left unfinished.
    UnfinishedLookup left;
  };
  Found look(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> keys;
    for (const std::int64_t number : numbers) keys.push_back(table_->rows.key({{"k", number}}));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::vector<ColumnIndex> columns = table_->all_columns();
    LookupRequest request;
    request.keys = views;
    request.columns = columns;
    Rowset rows;
    Found found;
    const TabletReader& reader = table_->tablet->reader();
    EXPECT_TRUE(reader.try_lookup(request, rows, found.left));
    EXPECT_TRUE(reader.read_missing_blocks_inline(request, rows, found.left));
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      const bool left = std::ranges::find(found.left.keys, i) != found.left.keys.end();
      found.rows.push_back(left ? "?" : rows.exists(i) ? table_->text(rows.row(i)) : "-");
    }
    return found;
  }
  std::string look(std::int64_t number) { return look(std::vector{number}).rows[0]; }
  blob::Device& device() {
    blob::BlobNode& node = table_->storage.storage();
    return *node.device(node.config().nodes[0].devices[0].id);
  }
  SimDrive& drive() { return table_->storage.node().disks().drive("device"); }
  // The positions of the text on the drive; the log has it too.
  std::vector<std::uint64_t> places_of(const std::string& text) {
    const DiskImage image = drive().snapshot();
    std::vector<std::uint64_t> places;
    const Slice bytes = image.read(0, image.size());
    for (std::size_t at = bytes.text().find(text); at != std::string_view::npos;
         at = bytes.text().find(text, at + 1)) {
      places.push_back(at);
    }
    return places;
  }

  std::unique_ptr<TestTable> table_;
};

TEST_F(LookupHere, FindsABlockOnTheDiskWithoutTheExecutor) {
  const auto disk_bytes = [this] {
    return table_->tablet->read_statistics().chunks.get(ChunkReadCounters::kDiskBytes);
  };
  const Instant before = table_->world.executor().now();
  EXPECT_EQ(look(1'000), row_of(1'000));
  EXPECT_EQ(look(kRows + 5), "-");
  EXPECT_EQ(table_->world.executor().now(), before);
  const std::uint64_t read = disk_bytes();
  EXPECT_GT(read, 0u);
  EXPECT_EQ(look(1'000), row_of(1'000));
  EXPECT_EQ(disk_bytes(), read) << "the block is in memory";
  const ChunkReadStatistics& chunks = table_->tablet->read_statistics().chunks;
  EXPECT_EQ(chunks.of(ReadKind::kLookup).get(ChunkReadCounters::kTransmittedBytes), 0u)
      << "the device was read directly";
  look({100, 500, 900, 1'300, 1'700});
  EXPECT_EQ(chunks.of(ReadKind::kLookup).get(ChunkReadCounters::kTransmittedBytes), 0u)
      << "they were left unfinished";
}

TEST_F(LookupHere, ManyMissingBlocksAreLeftForTheExecutor) {
  EXPECT_EQ(look({1, 1'000}).rows, (std::vector{row_of(1), row_of(1'000)}));
  const Found many = look({100, 500, 900, 1'300, 1'700});
  EXPECT_EQ(many.left.keys.size(), 5u);
}

TEST_F(LookupHere, ARowThatIsNewerInMemoryWins) {
  table_->put({{"k", 1'000}, {"v", "new"}});
  EXPECT_EQ(look(1'000), "k=1000 v=new");
  table_->erase({{"k", 1'001}});
  EXPECT_EQ(look(1'001), "-");
  EXPECT_EQ(look(1'002), row_of(1'002));
}

TEST_F(LookupHere, ADamagedBlockIsLeftAndTheExecutorNamesIt) {
  const auto places = places_of(value_of(1'000));
  ASSERT_FALSE(places.empty());
  for (const std::uint64_t at : places) drive().corrupt(at);
  EXPECT_EQ(look(1'000), "?");
  const std::string error = table_->get({{"k", 1'000}});
  EXPECT_NE(error.find("corrupt"), std::string::npos) << error;
  EXPECT_NE(error.find("chunk 1"), std::string::npos) << error;
  EXPECT_NE(error.find("block"), std::string::npos) << error;
  // The blob has no second copy, so the disk returns nothing of it any more.
  EXPECT_EQ(look(10), "?");
}

TEST_F(LookupHere, ADiskThatDoesNotReadIsLeftToTheExecutor) {
  const auto places = places_of(value_of(1'000));
  ASSERT_FALSE(places.empty());
  for (const std::uint64_t at : places) drive().fail_reads_at(align_down(at, kSectorSize), 1);
  EXPECT_EQ(look(1'000), "?");
}

TEST_F(LookupHere, AfterCleaningTheBlobIsFoundWhereItIsNow) {
  EXPECT_EQ(look(10), row_of(10));
  const std::uint64_t freed = device().stats().segments_freed;
  // Moves all old data.
  for (int i = 0; i < 40 && device().stats().segments_freed < freed + 3; ++i) {
    const std::string long_text(200'000, 'x');
    table_->put({{"k", kRows + 1}, {"v", std::string_view(long_text)}});
    ASSERT_TRUE(table_->world.run(device().checkpoint()));
    ASSERT_TRUE(table_->world.run(device().clean(0.99)));
  }
  ASSERT_GT(device().stats().segments_evacuated, 0u);
  // The first lookup may have to request the new locations; afterwards they are known.
  EXPECT_EQ(table_->get({{"k", 500}}), row_of(500));
  EXPECT_EQ(look(1'500), row_of(1'500));
  EXPECT_EQ(look(1'000), row_of(1'000));
}

TEST_F(LookupHere, AfterACrashTheRowsAreThere) {
  table_->crash();
  EXPECT_EQ(look(1'000), row_of(1'000));
  EXPECT_EQ(look(1'500), row_of(1'500));
}

}  // namespace
}  // namespace moraine::table
