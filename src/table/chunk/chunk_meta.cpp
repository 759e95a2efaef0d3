// clang-format off
//   meta       = version u8 = 2  crc32c u32 of all that follows
//                format u8  codec kind u8  codec level u8
//                body size u32  filter size u32  packed body size u32
//                filter (filter.h)  packed body: `body` by the codec
//   body       = schema varint size, bytes (schema_codec.h)  fresh hunk blobs varint  statistics
//                blobs varint  blob size varint*  blocks per unit varint  units varint
//                separator*  block*  samples varint  sample*  [columns: of the scan format]
//                [seed u64  hash u64 of the keys of each unit: from version 2 on]
//   separator  = bytes shared with the one before varint  the others varint size, bytes
//                one less than there are units
//   block      = size varint  raw bytes varint  rows varint  crc32c u32
//                min timestamp - the chunk's varint  max timestamp - min timestamp varint
//   sample     = unit varint  key varint size, bytes
//   statistics = rows, values, deletes, superseded, data bytes, uncompressed bytes, hunk bytes,
//                min timestamp, max timestamp: varints;  first key, last key: varint size, bytes
//   columns    = flags u8 of each column  unit*
//   unit       = irregular rows varint  range of each column
//   range      = flags u8 (1 values, 2 nulls, 4 the greatest is cut, 8 text)
//                [least, greatest: u64 each, or for texts varint size, bytes each]
// clang-format on
#include "table/chunk/chunk_meta.h"

#include <fmt/format.h>

#include "base/checksum.h"
#include "table/chunk/varint.h"
#include "table/model/schema_codec.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kVersionWithoutHashes = 1;
constexpr std::size_t kCheckedFrom = 5;
constexpr std::size_t kHeadBytes = kCheckedFrom + 15;
constexpr std::size_t kBodyBytesMax = std::size_t{256} << 20;
constexpr std::size_t kBlockBytesMin = 9;  // Encoded.

enum RangeFlags : std::uint8_t { kRangeValues = 1, kRangeNulls = 2, kRangeCut = 4, kRangeText = 8 };

void put_statistics(std::string& out, const ChunkStatistics& s) {
  for (const std::uint64_t number :
       {s.rows, s.values, s.deletes, s.superseded, s.data_bytes, s.uncompressed_bytes, s.hunk_bytes,
        s.min_timestamp, s.max_timestamp}) {
    put_varint(out, number);
  }
  put_sized(out, s.first_key);
  put_sized(out, s.last_key);
}

void take_statistics(VarintReader& in, ChunkStatistics& s) {
  for (std::uint64_t* number :
       {&s.rows, &s.values, &s.deletes, &s.superseded, &s.data_bytes, &s.uncompressed_bytes,
        &s.hunk_bytes, &s.min_timestamp, &s.max_timestamp}) {
    *number = in.varint();
  }
  s.first_key = as_text(in.sized());
  s.last_key = as_text(in.sized());
}

void put_separators(std::string& out, const std::vector<std::string>& separators) {
  std::string_view before;
  for (const std::string& key : separators) {
    std::size_t shared = 0;
    while (shared < before.size() && shared < key.size() && before[shared] == key[shared]) ++shared;
    put_varint(out, shared);
    put_sized(out, std::string_view(key).substr(shared));
    before = key;
  }
}

bool take_separators(VarintReader& in, std::size_t count, std::vector<std::string>& out) {
  std::string key;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    key.resize(in.varint(key.size()));
    key.append(as_text(in.sized()));
    if (i > 0 && key <= out.back()) return false;
    bytes += key.size();
    if (bytes > kBodyBytesMax) return false;
    out.push_back(key);
  }
  return !in.failed();
}

void put_blocks(std::string& out, const ChunkMeta& meta) {
  for (const BlockInfo& block : meta.blocks) {
    put_varint(out, block.size);
    put_varint(out, block.raw_bytes);
    put_varint(out, block.rows);
    put_fixed(out, block.checksum);
    put_varint(out, block.min_timestamp - meta.statistics.min_timestamp);
    put_varint(out, block.max_timestamp - block.min_timestamp);
  }
}

bool take_blocks(VarintReader& in, std::size_t count, ChunkMeta& meta) {
  std::uint64_t at = 0;
  std::uint64_t rows = 0;
  if (count > in.remaining() / kBlockBytesMin) return false;
  meta.blocks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    BlockInfo block{.at = at};
    block.size = static_cast<std::uint32_t>(in.varint(kCodecBytesMax));
    block.raw_bytes = static_cast<std::uint32_t>(in.varint(kCodecBytesMax));
    block.rows = static_cast<std::uint32_t>(in.varint(~std::uint32_t{0}));
    block.checksum = in.fixed<std::uint32_t>();
    block.min_timestamp = meta.statistics.min_timestamp + in.varint();
    block.max_timestamp = block.min_timestamp + in.varint();
    if (in.failed() || block.size == 0 || block.raw_bytes < block.size) return false;
    at += block.size;
    if (i % meta.blocks_per_unit == 0) rows += block.rows;
    meta.blocks.push_back(block);
  }
  const std::uint64_t end = meta.blob_ends.empty() ? 0 : meta.blob_ends.back();
  return at == end && rows == meta.statistics.rows;
}

bool take_blobs(VarintReader& in, ChunkMeta& meta) {
  const std::uint64_t count = in.varint(in.remaining());
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t size = in.varint(kChunkBlobBytesMax);
    if (in.failed() || size == 0) return false;
    end += size;
    meta.blob_ends.push_back(end);
  }
  return !in.failed();
}

void put_range(std::string& out, const ColumnRange& range, bool text) {
  put_fixed(out, static_cast<std::uint8_t>(
                     (range.values ? kRangeValues : 0) | (range.nulls ? kRangeNulls : 0) |
                     (range.greatest_cut ? kRangeCut : 0) | (text ? kRangeText : 0)));
  if (!range.values) return;
  if (text) {
    put_sized(out, range.least_text);
    put_sized(out, range.greatest_text);
  } else {
    put_fixed(out, range.least);
    put_fixed(out, range.greatest);
  }
}

bool take_range(VarintReader& in, ColumnRange& range, bool text) {
  const auto flags = in.fixed<std::uint8_t>();
  if (in.failed() || ((flags & kRangeText) != 0) != text) return false;
  range.values = (flags & kRangeValues) != 0;
  range.nulls = (flags & kRangeNulls) != 0;
  range.greatest_cut = (flags & kRangeCut) != 0;
  if (!range.values) return true;
  if (text) {
    range.least_text = as_text(in.sized());
    range.greatest_text = as_text(in.sized());
  } else {
    range.least = in.fixed<std::uint64_t>();
    range.greatest = in.fixed<std::uint64_t>();
  }
  return !in.failed();
}

bool is_text(const ColumnSchema& column) {
  const ValueType type = physical_type(column.type);
  return type == ValueType::kString || type == ValueType::kAny;
}

void put_columns(std::string& out, const ChunkMeta& meta) {
  const std::size_t columns = meta.schema.columns.size();
  for (const std::uint8_t flags : meta.column_flags) put_fixed(out, flags);
  for (std::size_t unit = 0; unit < meta.units(); ++unit) {
    put_varint(out, meta.irregular_rows[unit]);
    for (std::size_t column = 0; column < columns; ++column) {
      put_range(out, meta.ranges[unit * columns + column], is_text(meta.schema.columns[column]));
    }
  }
}

bool take_columns(VarintReader& in, ChunkMeta& meta) {
  const std::size_t columns = meta.schema.columns.size();
  if (meta.units() > in.remaining() / (columns + 1)) return false;
  for (std::size_t i = 0; i < columns; ++i) meta.column_flags.push_back(in.fixed<std::uint8_t>());
  meta.ranges.resize(meta.units() * columns);
  for (std::size_t unit = 0; unit < meta.units(); ++unit) {
    const std::uint32_t rows = meta.blocks[unit * meta.blocks_per_unit].rows;
    meta.irregular_rows.push_back(static_cast<std::uint32_t>(in.varint(rows)));
    for (std::size_t column = 0; column < columns; ++column) {
      ColumnRange& range = meta.ranges[unit * columns + column];
      if (!take_range(in, range, is_text(meta.schema.columns[column]))) return false;
    }
  }
  return !in.failed();
}

std::string encode_body(const ChunkMeta& meta) {
  std::string out;
  Encoder schema;
  append_schema(schema, meta.schema);
  put_sized(out, as_text(schema.span()));
  put_varint(out, meta.fresh_hunk_blobs);
  put_statistics(out, meta.statistics);
  put_varint(out, meta.blob_ends.size());
  std::uint64_t begin = 0;
  for (const std::uint64_t end : meta.blob_ends) {
    put_varint(out, end - begin);
    begin = end;
  }
  put_varint(out, meta.blocks_per_unit);
  put_varint(out, meta.units());
  put_separators(out, meta.separators);
  put_blocks(out, meta);
  put_varint(out, meta.samples.size());
  for (const KeySample& sample : meta.samples) {
    put_varint(out, sample.unit);
    put_sized(out, sample.key);
  }
  if (meta.format == OptimizeFor::kScan) put_columns(out, meta);
  if (meta.key_hashes.empty()) return out;
  put_fixed(out, meta.key_seed);
  for (const std::uint64_t hash : meta.key_hashes) put_fixed(out, hash);
  return out;
}

bool take_samples(VarintReader& in, ChunkMeta& meta) {
  const std::uint64_t count = in.varint(kSamplesMax);
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    KeySample sample;
    sample.unit = static_cast<std::uint32_t>(in.varint(meta.units() - 1));
    sample.key = as_text(in.sized());
    meta.samples.push_back(std::move(sample));
  }
  return !in.failed();
}

bool take_key_hashes(VarintReader& in, ChunkMeta& meta) {
  if (meta.units() > in.remaining() / sizeof(std::uint64_t)) return false;
  meta.key_seed = in.fixed<std::uint64_t>();
  meta.key_hashes.reserve(meta.units());
  for (std::size_t i = 0; i < meta.units(); ++i) {
    meta.key_hashes.push_back(in.fixed<std::uint64_t>());
  }
  return !in.failed();
}

Result<void> decode_body(ByteSpan bytes, std::uint8_t version, ChunkMeta& meta) {
  const auto damaged = [](std::string_view what) {
    return fail(Errc::kCorrupt, fmt::format("chunk meta: {}", what));
  };
  VarintReader in(bytes);
  Decoder schema_bytes(in.sized());
  auto schema = take_schema(schema_bytes);
  if (!schema) return std::unexpected(std::move(schema.error()));
  if (!schema_bytes.finished()) return damaged("schema");
  meta.schema = std::move(*schema);
  meta.fresh_hunk_blobs = static_cast<std::uint32_t>(in.varint(~std::uint32_t{0}));
  take_statistics(in, meta.statistics);
  if (in.failed() || !take_blobs(in, meta)) return damaged("blobs");
  const std::size_t per_unit =
      meta.format == OptimizeFor::kScan ? meta.schema.columns.size() + 2 : 1;
  meta.blocks_per_unit = static_cast<std::uint32_t>(in.varint(per_unit));
  const std::uint64_t units = in.varint(in.remaining() / kBlockBytesMin);
  if (in.failed() || meta.blocks_per_unit != per_unit || units == 0) return damaged("units");
  if (!take_separators(in, units - 1, meta.separators)) return damaged("separators");
  if (!take_blocks(in, units * per_unit, meta)) return damaged("blocks");
  if (!take_samples(in, meta)) return damaged("samples");
  if (meta.format == OptimizeFor::kScan && !take_columns(in, meta)) return damaged("columns");
  if (version != kVersionWithoutHashes && !take_key_hashes(in, meta)) return damaged("key hashes");
  if (!in.finished()) return damaged("bytes after its end");
  return {};
}

}  // namespace

Slice encode_meta(const ChunkMeta& meta) {
  const std::string body = encode_body(meta);
  const Slice packed = compress(meta.codec, as_bytes(body));
  Encoder out;
  out.u8(meta.key_hashes.empty() ? kVersionWithoutHashes : kVersion)
      .u32(0)
      .u8(static_cast<std::uint8_t>(meta.format));
  out.u8(static_cast<std::uint8_t>(meta.codec.kind)).u8(meta.codec.level);
  out.u32(static_cast<std::uint32_t>(body.size()));
  out.u32(static_cast<std::uint32_t>(meta.filter_bytes.size()));
  out.u32(static_cast<std::uint32_t>(packed.size()));
  out.raw(as_bytes(meta.filter_bytes)).raw(packed);
  store(out.span().data() + 1, crc32c(out.span().subspan(kCheckedFrom)));
  return out.slice();
}

Result<ChunkMeta> decode_meta(const Slice& bytes) {
  if (bytes.size() < kHeadBytes) return fail(Errc::kCorrupt, "chunk meta is short");
  Decoder in(bytes);
  const std::uint8_t version = in.u8();
  if (version != kVersion && version != kVersionWithoutHashes) {
    return fail(Errc::kUnsupported, fmt::format("chunk meta of version {}", version));
  }
  if (in.u32() != crc32c(bytes.span().subspan(kCheckedFrom))) {
    return fail(Errc::kCorrupt, "chunk meta does not match its checksum");
  }
  ChunkMeta meta;
  const std::uint8_t format = in.u8();
  const std::uint8_t codec = in.u8();
  meta.codec.level = in.u8();
  const std::uint32_t body_size = in.u32();
  const std::uint32_t filter_size = in.u32();
  const std::uint32_t packed_size = in.u32();
  if (format > 1 || codec > static_cast<std::uint8_t>(CodecKind::kBzip2)) {
    return fail(Errc::kUnsupported, fmt::format("chunk of format {}, codec {}", format, codec));
  }
  if (std::uint64_t{filter_size} + packed_size != in.remaining() || body_size > kBodyBytesMax) {
    return fail(Errc::kCorrupt, "chunk meta's sizes");
  }
  meta.format = static_cast<OptimizeFor>(format);
  meta.codec.kind = static_cast<CodecKind>(codec);
  auto filter = KeyFilter::open(Slice::copy_of(in.raw(filter_size)));
  if (!filter) return std::unexpected(std::move(filter.error()));
  meta.filter = std::move(*filter);
  const auto body = decompress(meta.codec.kind, in.raw(packed_size), body_size);
  if (!body) return std::unexpected(body.error());
  if (auto done = decode_body(*body, version, meta); !done)
    return std::unexpected(std::move(done.error()));
  meta.index = KeyIndex(meta.separators);
  meta.separators = {};
  return meta;
}

}  // namespace moraine::table
