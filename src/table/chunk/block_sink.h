// BlockSink: collects the blocks of a chunk that is being written, one after another, into blobs.
//
// Promise    Compresses, checksums and places blocks; emits blobs as they become full. A block
//            spans two blobs only when it is larger than one.
// Threading  One thread at a time.
// Tests      chunk_test.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "table/chunk/chunk_meta.h"

namespace moraine::table {

// Bytes cut into blobs of about kChunkBlobBytes, at most kChunkBlobBytesMax.
class BlobStream {
 public:
  void append(ByteSpan bytes);
  std::optional<Slice> take();
  // Ends the last blob and returns the blobs not taken yet.
  std::vector<Slice> finish();

  std::uint64_t bytes() const { return closed_bytes_ + open_.size(); }
  const std::vector<std::uint64_t>& ends() const { return ends_; }
  // Where the next bytes would go: a blob's ordinal and an offset in it.
  std::uint32_t ordinal() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::uint32_t offset() const { return static_cast<std::uint32_t>(open_.size()); }
  // Begins another blob unless the open one has this many bytes free.
  void make_room(std::size_t bytes);

 private:
  void close();

  std::string open_;
  std::uint64_t closed_bytes_ = 0;
  std::vector<std::uint64_t> ends_;
  std::deque<Slice> full_;
};

class BlockSink {
 public:
  explicit BlockSink(Codec codec) : codec_(codec) {}

  struct Times {
    Timestamp min = 0;
    Timestamp max = 0;
  };
  void add(ByteSpan raw, std::uint32_t rows, Times times);

  BlobStream& blobs() { return blobs_; }
  const BlobStream& blobs() const { return blobs_; }
  std::vector<BlockInfo>& blocks() { return blocks_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  const Codec codec_;
  BlobStream blobs_;
  std::vector<BlockInfo> blocks_;
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace moraine::table
