#include "table/model/schema_codec.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

TableSchema test_schema() {
  TableSchema schema;
  schema.unique_keys = false;
  schema.columns = {
      {.name = "h", .type = ColumnType::kUint64, .key = true, .expression = "farm_hash(k)"},
      {.name = "k", .type = ColumnType::kUtf8, .required = true, .key = true},
      {.name = "n", .type = ColumnType::kInt64, .aggregate = Aggregate::kMax, .lock = "x"},
      {.name = "v", .type = ColumnType::kAny, .group = "g", .max_inline_hunk_size = 100}};
  return schema;
}

TEST(SchemaCodec, ASchemaIsDecodedAsEncoded) {
  Encoder encoder;
  append_schema(encoder, test_schema());
  Decoder decoder(encoder.span());
  const auto schema = take_schema(decoder);
  ASSERT_TRUE(schema) << schema.error().message();
  EXPECT_EQ(*schema, test_schema());
  EXPECT_TRUE(decoder.finished());
}

TEST(SchemaCodec, AShortSchemaIsRefused) {
  Encoder encoder;
  append_schema(encoder, test_schema());
  for (std::size_t size = 0; size < encoder.size(); ++size) {
    Decoder decoder(ByteSpan(encoder.span()).first(size));
    EXPECT_FALSE(take_schema(decoder)) << size;
  }
}

TEST(SchemaCodec, ALaterVersionIsUnsupported) {
  Encoder encoder;
  append_schema(encoder, test_schema());
  encoder.span()[0] = std::byte{2};
  Decoder decoder(encoder.span());
  const auto schema = take_schema(decoder);
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().code, Errc::kUnsupported);
}

TEST(SchemaCodec, KeyColumnsComeFirst) {
  TableSchema schema;
  schema.columns = {{.name = "v"}, {.name = "k", .key = true}};
  Encoder encoder;
  append_schema(encoder, schema);
  Decoder decoder(encoder.span());
  EXPECT_FALSE(take_schema(decoder));
}

}  // namespace
}  // namespace moraine::table
