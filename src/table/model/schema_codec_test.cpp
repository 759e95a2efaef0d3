#include "table/model/schema_codec.h"

#include <gtest/gtest.h>

#include "table/model/logical_type.h"

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
  encoder.span()[0] = std::byte{3};
  Decoder decoder(encoder.span());
  const auto schema = take_schema(decoder);
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().code, Errc::kUnsupported);
}

TEST(SchemaCodec, TypesOfColumnsAreDecodedAsEncoded) {
  TableSchema schema = test_schema();
  ColumnSchema& list = schema.columns.emplace_back();
  list.name = "list";
  set_type(list, *parse_type_text("{type_name=optional;item={type_name=list;item=int8}}"));
  Encoder encoder;
  append_schema(encoder, schema);
  EXPECT_EQ(encoder.span()[0], std::byte{2});
  for (std::size_t size = 0; size < encoder.size(); ++size) {
    Decoder cut(ByteSpan(encoder.span()).first(size));
    EXPECT_FALSE(take_schema(cut)) << size;
  }
  Decoder decoder(encoder.span());
  const auto decoded = take_schema(decoder);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, schema);
  EXPECT_NE(schema_fingerprint(schema), schema_fingerprint(test_schema()));

  schema.columns.back().type = ColumnType::kInt64;  // Not how lists are stored.
  Encoder wrong;
  append_schema(wrong, schema);
  Decoder refused(wrong.span());
  EXPECT_FALSE(take_schema(refused));
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
