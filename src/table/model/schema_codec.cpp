#include "table/model/schema_codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "table/model/limits.h"
#include "table/model/logical_type.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kTypedVersion = 2;  // A column has a type_v3.
constexpr std::uint8_t kUniqueKeys = 1;
constexpr std::uint8_t kStrict = 2;
constexpr std::uint8_t kRequired = 1;
constexpr std::uint8_t kKey = 2;
constexpr std::uint8_t kHunk = 4;
constexpr std::uint8_t kTypeV3 = 8;
constexpr std::size_t kColumnBytesMin = 4 * sizeof(std::uint32_t) + 3;

std::string take_text(Decoder& decoder) {
  return std::string(as_text(decoder.sized()));
}

Result<ColumnSchema> take_column(Decoder& decoder) {
  ColumnSchema column;
  column.name = take_text(decoder);
  const std::uint8_t type = decoder.u8();
  const std::uint8_t flags = decoder.u8();
  const std::uint8_t aggregate = decoder.u8();
  column.expression = take_text(decoder);
  column.lock = take_text(decoder);
  column.group = take_text(decoder);
  if (type > std::to_underlying(ColumnType::kInterval64) ||
      aggregate > std::to_underlying(Aggregate::kDictSum) ||
      flags > (kRequired | kKey | kHunk | kTypeV3)) {
    return fail(Errc::kCorrupt, "schema column: unknown type, aggregate or flag");
  }
  column.type = static_cast<ColumnType>(type);
  column.aggregate = static_cast<Aggregate>(aggregate);
  column.required = (flags & kRequired) != 0;
  column.key = (flags & kKey) != 0;
  if ((flags & kHunk) != 0) column.max_inline_hunk_size = decoder.u64();
  if ((flags & kTypeV3) != 0) column.type_v3 = take_text(decoder);
  if (decoder.failed()) return fail(Errc::kCorrupt, "schema column is short");
  if ((flags & kTypeV3) != 0 && (column.type_v3.empty() || !check_type(column))) {
    return fail(Errc::kCorrupt, "schema column: type_v3");
  }
  return column;
}

bool has_type_v3(const TableSchema& schema) {
  return std::ranges::any_of(schema.columns,
                             [](const ColumnSchema& column) { return !column.type_v3.empty(); });
}

}  // namespace

void append_schema(Encoder& encoder, const TableSchema& schema) {
  encoder.u8(has_type_v3(schema) ? kTypedVersion : kVersion);
  encoder.u8(static_cast<std::uint8_t>((schema.unique_keys ? kUniqueKeys : 0) |
                                       (schema.strict ? kStrict : 0)));
  encoder.u32(static_cast<std::uint32_t>(schema.columns.size()));
  for (const ColumnSchema& column : schema.columns) {
    encoder.sized(column.name).u8(std::to_underlying(column.type));
    encoder.u8(static_cast<std::uint8_t>(
        (column.required ? kRequired : 0) | (column.key ? kKey : 0) |
        (column.max_inline_hunk_size ? kHunk : 0) | (column.type_v3.empty() ? 0 : kTypeV3)));
    encoder.u8(std::to_underlying(column.aggregate));
    encoder.sized(column.expression).sized(column.lock).sized(column.group);
    if (column.max_inline_hunk_size) encoder.u64(*column.max_inline_hunk_size);
    if (!column.type_v3.empty()) encoder.sized(column.type_v3);
  }
}

Result<TableSchema> take_schema(Decoder& decoder) {
  TableSchema schema;
  const std::uint8_t version = decoder.u8();
  const std::uint8_t flags = decoder.u8();
  const std::uint32_t count = decoder.count(kColumnBytesMin);
  if (decoder.failed()) return fail(Errc::kCorrupt, "schema is short");
  if (version != kVersion && version != kTypedVersion)
    return fail(Errc::kUnsupported, "version of a schema");
  if (flags > (kUniqueKeys | kStrict)) return fail(Errc::kCorrupt, "schema flags");
  if (count > kStaticColumnsMax) return fail(Errc::kCorrupt, "schema has too many columns");
  schema.unique_keys = (flags & kUniqueKeys) != 0;
  schema.strict = (flags & kStrict) != 0;
  schema.columns.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(ColumnSchema column, take_column(decoder));
    if (column.key && i > 0 && !schema.columns.back().key) {
      return fail(Errc::kCorrupt, "schema: a key column after a value column");
    }
    schema.columns.push_back(std::move(column));
  }
  if (has_type_v3(schema) != (version == kTypedVersion)) {
    return fail(Errc::kCorrupt, "schema: types of another version");
  }
  return schema;
}

std::uint64_t schema_fingerprint(const TableSchema& schema) {
  Encoder encoder;
  append_schema(encoder, schema);
  const std::uint64_t hash = XXH3_64bits(encoder.span().data(), encoder.size());
  return hash != 0 ? hash : 1;
}

}  // namespace moraine::table
