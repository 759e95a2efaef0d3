// Every damaged byte of a chunk is detected; nothing crashes.

#include <gtest/gtest.h>

#include "table/chunk/chunk_meta.h"
#include "table/chunk/test_chunk.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

Slice damaged(const Slice& bytes, std::size_t at) {
  std::string text(bytes.text());
  text[at] = static_cast<char>(text[at] ^ 0x41);
  return Slice::copy_of(text);
}

class ChunkDamageTest : public testing::TestWithParam<OptimizeFor> {
 protected:
  void SetUp() override {
    SeededRandom random(11);
    schema_ = std::make_shared<TableSchema>(random_schema(random));
    rows_ = random_rows(*schema_, random, 60);
    ChunkWriteOptions options;
    options.format = GetParam();
    options.block_bytes = 1'000;
    record_ = chunks_.write(schema_, options, rows_);
  }

  std::shared_ptr<TableSchema> schema_;
  std::vector<OwnedRow> rows_;
  TestChunks chunks_;
  ChunkRecord record_;
};

TEST_P(ChunkDamageTest, OfAnyByteOfTheMetaIsFound) {
  const Slice meta = chunks_.blobs.blobs.at(record_.meta);
  for (std::size_t at = 0; at < meta.size(); ++at) {
    EXPECT_FALSE(decode_meta(damaged(meta, at))) << at;
    EXPECT_FALSE(decode_meta(meta.sub(0, at))) << at;
  }
}

TEST_P(ChunkDamageTest, OfAnyByteOfABlockNamesChunkBlockAndBlob) {
  const blob::BlobId id = record_.data.at(0);
  const Slice blob = chunks_.blobs.blobs.at(id);
  const auto meta = decode_meta(chunks_.blobs.blobs.at(record_.meta));
  ASSERT_TRUE(meta);
  std::uint32_t block = 0;
  for (std::size_t at = 0; at < blob.size(); ++at) {
    chunks_.blobs.blobs.insert_or_assign(id, damaged(blob, at));
    while (meta->blocks[block].at + meta->blocks[block].size <= at) ++block;
    const auto reader = chunks_.open(record_, schema_);
    ASSERT_TRUE(reader);
    const auto loaded = run_now((*reader)->load(block));
    ASSERT_FALSE(loaded) << at;
    EXPECT_EQ(loaded.error().code, Errc::kCorrupt);
    EXPECT_NE(loaded.error().context.find("chunk 1, block " + std::to_string(block)),
              std::string::npos);
    EXPECT_NE(loaded.error().context.find(id.to_string()), std::string::npos);
  }
}

TEST_P(ChunkDamageTest, IsReportedByTheLoadOfAScan) {
  const blob::BlobId id = record_.data.at(0);
  chunks_.blobs.blobs.insert_or_assign(id, damaged(chunks_.blobs.blobs.at(id), 20));
  const auto reader = chunks_.open(record_, schema_);
  ASSERT_TRUE(reader);
  const auto cursor = (*reader)->scan({}, {}, true);
  EXPECT_EQ(cursor->next(), RowCursor::Step::kNeedsData);
  EXPECT_TRUE(run_now(cursor->load()));
  EXPECT_EQ(cursor->next(), RowCursor::Step::kNeedsData);
  const auto loaded = run_now(cursor->load());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::kCorrupt);
}

TEST_P(ChunkDamageTest, ARecordThatDoesNotFitItsMetaIsCorrupt) {
  ChunkRecord other = record_;
  other.data.push_back(other.data[0]);
  EXPECT_FALSE(chunks_.open(other, schema_));
}

INSTANTIATE_TEST_SUITE_P(Formats, ChunkDamageTest,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& test) {
                           return test.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
