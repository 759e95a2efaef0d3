#include "table/chunk/block_sink.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/invariant.h"

namespace moraine::table {

void BlobStream::close() {
  if (open_.empty()) return;
  closed_bytes_ += open_.size();
  ends_.push_back(closed_bytes_);
  full_.push_back(Slice::copy_of(open_));
  open_.clear();
}

void BlobStream::make_room(std::size_t bytes) {
  if (open_.size() + bytes > kChunkBlobBytes) close();
}

void BlobStream::append(ByteSpan bytes) {
  make_room(bytes.size());
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kChunkBlobBytesMax - open_.size());
    open_.append(as_text(bytes.first(part)));
    bytes = bytes.subspan(part);
    if (open_.size() == kChunkBlobBytesMax) close();
  }
}

std::optional<Slice> BlobStream::take() {
  if (full_.empty()) return std::nullopt;
  Slice blob = std::move(full_.front());
  full_.pop_front();
  return blob;
}

std::vector<Slice> BlobStream::finish() {
  close();
  std::vector<Slice> blobs(full_.begin(), full_.end());
  full_.clear();
  return blobs;
}

void BlockSink::add(ByteSpan raw, std::uint32_t rows, Times times) {
  INVARIANT(!raw.empty() && raw.size() <= kCodecBytesMax, "a block of {} bytes", raw.size());
  const Slice packed = codec_.kind == CodecKind::kNone ? Slice() : compress(codec_, raw);
  // Incompressible blocks are stored uncompressed.
  const ByteSpan stored = packed.empty() || packed.size() >= raw.size() ? raw : packed.span();
  blocks_.push_back({.at = blobs_.bytes(),
                     .size = static_cast<std::uint32_t>(stored.size()),
                     .raw_bytes = static_cast<std::uint32_t>(raw.size()),
                     .rows = rows,
                     .checksum = crc32c(stored),
                     .min_timestamp = times.min,
                     .max_timestamp = times.max});
  blobs_.append(stored);
  raw_bytes_ += raw.size();
}

}  // namespace moraine::table
