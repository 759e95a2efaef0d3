#include "table/chunk/chunk_record.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

ChunkRecord example() {
  ChunkRecord record;
  record.id = 0x1234;
  record.format = OptimizeFor::kScan;
  record.meta = blob::BlobId(blob::TabletId{1}, 2, 3, 4, 5, 6);
  record.data = {blob::BlobId(blob::TabletId{1}, 2, 4, 4, 500, 6), record.meta};
  record.hunks = {{.blob = record.meta, .bytes = 77}};
  record.statistics = {.rows = 1,
                       .values = 2,
                       .deletes = 3,
                       .superseded = 4,
                       .data_bytes = 5,
                       .uncompressed_bytes = 6,
                       .meta_bytes = 7,
                       .hunk_bytes = 8,
                       .min_timestamp = 9,
                       .max_timestamp = 10,
                       .first_key = "a",
                       .last_key = "z"};
  record.from = "b";
  record.to = "y";
  record.created_ms = 11;
  return record;
}

TEST(ChunkRecord, IsReadAsItWasWritten) {
  Encoder out;
  append_record(out, example());
  Decoder in(out.span());
  const auto back = take_record(in);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(in.finished());
  Encoder again;
  append_record(again, *back);
  EXPECT_TRUE(equal(out.span(), again.span()));
  EXPECT_EQ(back->statistics.last_key, "z");
  EXPECT_EQ(back->data.size(), 2u);
  EXPECT_EQ(back->hunks[0].bytes, 77u);
  EXPECT_EQ(back->to, "y");
}

TEST(ChunkRecord, CutShortIsCorrupt) {
  Encoder out;
  append_record(out, example());
  for (std::size_t size = 0; size < out.size(); ++size) {
    Decoder in(ByteSpan(out.span()).first(size));
    EXPECT_FALSE(take_record(in)) << size;
  }
}

}  // namespace
}  // namespace moraine::table
