// Errors name a damaged chunk; the rest stays readable.

#include "table/tablet/damaged_chunk.h"

#include <gtest/gtest.h>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

// A tablet whose chunks are handed over to another one, some of them with the wrong blobs.
class DamagedChunks : public testing::TestWithParam<OptimizeFor> {
 protected:
  DamagedChunks() {
    MountConfig mount;
    mount.enable_compaction_and_partitioning = false;
    table_ = std::make_unique<TestTable>(7, test_schema(), mount);
    table_->settings.chunks.format = GetParam();
    table_->settings.chunks.codec = *parse_codec("none");
    table_->settings.chunks.block_bytes = 512;
    table_->boot();
  }
  void put(std::int64_t first, std::int64_t last) {
    std::vector<RowChange> changes;
    const std::string text(40, 'x');
    for (std::int64_t key = first; key < last; ++key) {
      changes.push_back(table_->rows.put({{"k", key}, {"v", std::string_view(text)}}));
    }
    ASSERT_TRUE(table_->write(std::move(changes)));
    table_->flush();
  }
  // Moves the rows to another tablet.
  void move(const std::vector<ChunkRecord>& records) {
    ASSERT_TRUE(table_->world.run(table_->tablet->freeze()));
    table_->options.adopted = records;
    ++tablet_;
    restart();
  }
  void restart() {
    table_->stop();
    auto booted = table_->try_boot(TabletInfo::simple(TabletId{tablet_}, kTestGroup, 3));
    ASSERT_TRUE(booted) << booted.error().message();
    table_->tablet = std::move(*booted);
  }
  std::string get(std::int64_t key, Timestamp timestamp = kSyncLastCommitted) {
    return table_->get({{"k", key}}, timestamp);
  }
  std::vector<std::string> scan(std::int64_t first, std::int64_t last) {
    return table_->all(kSyncLastCommitted,
                       {table_->rows.key({{"k", first}}), table_->rows.key({{"k", last}})});
  }
  std::vector<ChunkRecord> records() const { return table_->tablet->chunk_records(); }

  std::unique_ptr<TestTable> table_;
  std::uint64_t tablet_ = TestTable::info().id.value;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_P(DamagedChunks, ADamagedMetaIsNamedAndTheRestStaysReadable) {
  put(0, 100);
  const Timestamp before = table_->tablet->statistics().last_commit;
  put(100, 200);
  put(200, 300);
  std::vector<ChunkRecord> chunks = records();
  ASSERT_EQ(chunks.size(), 3u);
  chunks[1].meta = chunks[1].data.front();
  move(chunks);
  EXPECT_TRUE(get(99).starts_with("k=99")) << get(99);
  EXPECT_TRUE(get(200).starts_with("k=200")) << get(200);
  EXPECT_EQ(get(-1), "-");
  const std::string error = get(150);
  EXPECT_TRUE(has(error, "error: corrupt")) << error;
  EXPECT_TRUE(has(error, "chunk 2")) << error;
  EXPECT_TRUE(has(error, "from (100) to (199)")) << error;
  EXPECT_TRUE(has(error, chunks[1].meta.to_string())) << error;
  EXPECT_EQ(get(150, before), "-") << "the chunk is younger than that";
  EXPECT_EQ(scan(0, 100).size(), 100u);
  EXPECT_EQ(scan(200, 300).size(), 100u);
  EXPECT_TRUE(has(scan(50, 150).back(), "chunk 2"));
  EXPECT_TRUE(has(scan(150, 250).back(), "chunk 2"));
  EXPECT_TRUE(has(table_->tablet->statistics().error, "chunk 2"));
  EXPECT_EQ(table_->tablet->statistics().damaged_chunks, 1u);
}

TEST_P(DamagedChunks, WritesFlushesAndCompactionsContinueBesideADamagedChunk) {
  put(0, 100);
  put(100, 200);
  std::vector<ChunkRecord> chunks = records();
  chunks[0].meta = chunks[0].data.front();
  move(chunks);
  for (std::int64_t turn = 0; turn < 3; ++turn) put(150, 250);
  table_->put({{"k", 50}, {"v", "new"}});
  table_->erase({{"k", 51}});
  table_->flush();
  table_->compact();
  EXPECT_EQ(scan(100, 250).size(), 150u);
  EXPECT_TRUE(has(get(50), "chunk 1"));
  restart();
  EXPECT_EQ(scan(100, 250).size(), 150u);
  EXPECT_TRUE(has(get(50), "chunk 1"));
}

TEST_P(DamagedChunks, TombstonesAboveADamagedChunkStay) {
  put(0, 100);
  std::vector<ChunkRecord> chunks = records();
  const BlobId meta = chunks[0].meta;
  chunks[0].meta = chunks[0].data.front();
  table_->settings.mount.min_data_ttl = 0ms;
  table_->settings.mount.max_data_ttl = 0ms;
  table_->settings.mount.min_data_versions = 0;
  move(chunks);
  table_->erase({{"k", 5}});
  table_->put({{"k", 200}, {"v", "x"}});
  table_->flush();
  table_->world.run_for(5s);
  table_->compact();
  // The chunk is restored, as from a copy.
  chunks = records();
  ASSERT_EQ(chunks.size(), 2u);
  for (ChunkRecord& chunk : chunks) {
    if (chunk.meta == chunk.data.front()) chunk.meta = meta;
  }
  move(chunks);
  EXPECT_EQ(get(5), "-");
  EXPECT_TRUE(get(6).starts_with("k=6"));
}

TEST_P(DamagedChunks, ADamagedBlockIsNamedAndOtherBlocksStayReadable) {
  put(0, 100);
  put(100, 200);
  std::vector<ChunkRecord> chunks = records();
  ASSERT_EQ(chunks[0].data.front().size(), chunks[1].data.front().size());
  const BlobId blob = chunks[1].data.front();
  chunks[0].data.front() = blob;
  move(chunks);
  const std::string error = get(50);
  EXPECT_TRUE(has(error, "error: corrupt: chunk 1, block ")) << error;
  EXPECT_TRUE(has(error, blob.to_string())) << error;
  EXPECT_TRUE(get(150).starts_with("k=150"));
  EXPECT_EQ(scan(100, 200).size(), 100u);
  EXPECT_TRUE(has(scan(0, 200).back(), "chunk 1, block "));
}

TEST_P(DamagedChunks, ChunksThatACompactionCannotReadAreLeftAloneAndNamed) {
  put(0, 100);
  put(100, 200);
  put(200, 300);
  std::vector<ChunkRecord> chunks = records();
  chunks[0].data.front() = chunks[1].data.front();
  move(chunks);
  const auto failed = table_->world.run(table_->tablet->compact_all());
  ASSERT_FALSE(failed);
  EXPECT_TRUE(has(failed.error().message(), "chunk 1, block ")) << failed.error().message();
  const auto again = table_->world.run(table_->tablet->compact_all());
  EXPECT_FALSE(again);
  EXPECT_TRUE(has(table_->tablet->statistics().error, "chunk 1, block "));
  EXPECT_EQ(table_->tablet->statistics().damaged_chunks, 1u);
  EXPECT_EQ(records().size(), 2u) << "the others were merged";
  EXPECT_EQ(scan(100, 300).size(), 200u);
}

TEST_P(DamagedChunks, WhatLiesBeneathOneThatIsLeftAloneIsNotRewrittenForEver) {
  put(0, 1'000);
  put(0, 500);
  std::vector<ChunkRecord> chunks = records();
  ASSERT_EQ(chunks.size(), 2u);
  std::swap(chunks[1].data, chunks[0].data);
  chunks[0].data = chunks[1].data;
  table_->settings.mount.enable_compaction_and_partitioning = true;
  table_->settings.mount.min_data_ttl = 0ms;
  table_->settings.mount.max_data_ttl = 0ms;
  move(chunks);
  table_->world.run_for(60s);
  table_->world.run(table_->tablet->settle());
  EXPECT_EQ(table_->tablet->statistics().damaged_chunks, 1u);
  EXPECT_LT(table_->tablet->statistics().compactions, 10u);
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedChunks,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& test) {
                           return test.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

// Chunks written with fewer key columns have shorter keys than the table's present ones.
class AddedKeyColumn : public testing::TestWithParam<OptimizeFor> {};

TEST_P(AddedKeyColumn, HidesNoRowOfOlderChunks) {
  MountConfig mount;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  mount.enable_compaction_and_partitioning = false;
  TestTable table(9, test_schema(), mount);
  table.settings.chunks.format = GetParam();
  table.boot();
  for (std::int64_t key = 1; key <= 3; ++key) table.put({{"k", key}, {"v", "old"}});
  table.flush();
  ASSERT_TRUE(table.world.run(table.tablet->freeze()));
  table.stop();
  TableSchema wider = test_schema();
  wider.columns.insert(wider.columns.begin() + 1, key_column("k2"));
  table.settings.schema = std::make_shared<const TableSchema>(wider);
  table.rows.schema = table.settings.schema;
  table.boot();
  EXPECT_EQ(table.all().size(), 3u);
  table.erase({{"k", 3}, {"k2", Value()}});
  table.put({{"k", 4}, {"k2", 1}, {"v", "new"}});
  table.flush();
  EXPECT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.get({{"k", 3}, {"k2", Value()}}), "-");
  EXPECT_EQ(table.get({{"k", 2}, {"k2", Value()}}), "k=2 v=old");
  table.world.run_for(5s);
  table.compact();
  EXPECT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.get({{"k", 3}, {"k2", Value()}}), "-");
}

INSTANTIATE_TEST_SUITE_P(Formats, AddedKeyColumn,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& test) {
                           return test.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
