#include "table/chunk/chunk_record.h"

#include <fmt/format.h>

#include <array>

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHunkBytes = blob::kBlobIdBytes + 8;

void append_blob(Encoder& out, const blob::BlobId& id) {
  std::array<std::byte, blob::kBlobIdBytes> bytes;
  id.encode(bytes.data());
  out.raw(bytes);
}

blob::BlobId take_blob_id(Decoder& in) {
  const ByteSpan bytes = in.raw(blob::kBlobIdBytes);
  return in.failed() ? blob::BlobId() : blob::BlobId::decode(bytes.data());
}

void append_statistics(Encoder& out, const ChunkStatistics& s) {
  for (const std::uint64_t number :
       {s.rows, s.values, s.deletes, s.superseded, s.data_bytes, s.uncompressed_bytes, s.meta_bytes,
        s.hunk_bytes, s.min_timestamp, s.max_timestamp}) {
    out.u64(number);
  }
  out.sized(s.first_key).sized(s.last_key);
}

void take_statistics(Decoder& in, ChunkStatistics& s) {
  for (std::uint64_t* number :
       {&s.rows, &s.values, &s.deletes, &s.superseded, &s.data_bytes, &s.uncompressed_bytes,
        &s.meta_bytes, &s.hunk_bytes, &s.min_timestamp, &s.max_timestamp}) {
    *number = in.u64();
  }
  s.first_key = as_text(in.sized());
  s.last_key = as_text(in.sized());
}

}  // namespace

void append_record(Encoder& encoder, const ChunkRecord& record) {
  encoder.u8(kVersion).u64(record.id).u8(static_cast<std::uint8_t>(record.format));
  append_blob(encoder, record.meta);
  encoder.u32(static_cast<std::uint32_t>(record.data.size()));
  for (const blob::BlobId& id : record.data) append_blob(encoder, id);
  encoder.u32(static_cast<std::uint32_t>(record.hunks.size()));
  for (const HunkUse& use : record.hunks) {
    append_blob(encoder, use.blob);
    encoder.u64(use.bytes);
  }
  append_statistics(encoder, record.statistics);
  encoder.sized(record.from).sized(record.to).u64(record.created_ms);
}

Result<ChunkRecord> take_record(Decoder& decoder) {
  const std::uint8_t version = decoder.u8();
  if (!decoder.failed() && version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("chunk record of version {}", version));
  }
  ChunkRecord record;
  record.id = decoder.u64();
  const std::uint8_t format = decoder.u8();
  record.format = static_cast<OptimizeFor>(format);
  record.meta = take_blob_id(decoder);
  const std::uint32_t blobs = decoder.count(blob::kBlobIdBytes);
  for (std::uint32_t i = 0; i < blobs; ++i) record.data.push_back(take_blob_id(decoder));
  const std::uint32_t hunks = decoder.count(kHunkBytes);
  for (std::uint32_t i = 0; i < hunks; ++i) {
    const blob::BlobId id = take_blob_id(decoder);
    record.hunks.push_back({.blob = id, .bytes = decoder.u64()});
  }
  take_statistics(decoder, record.statistics);
  record.from = as_text(decoder.sized());
  record.to = as_text(decoder.sized());
  record.created_ms = decoder.u64();
  if (decoder.failed() || format > 1) return fail(Errc::kCorrupt, "chunk record");
  return record;
}

}  // namespace moraine::table
