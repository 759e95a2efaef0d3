// BlockFeed: blocks of a chunk for a reader that moves forward: from memory, or from ranges of
// blobs that were read ahead.
//
// Promise    get() never blocks. load() reads the listed blocks, adjacent ones together; get()
//            returns them afterwards. Blocks are unpacked by the thread that calls get().
// Threading  One thread at a time; load() on the tablet's executor.
// Limits     kFeedBytesMax are read with one load.
// Tests      chunk_test.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "table/chunk/open_chunk.h"

namespace moraine::table {

inline constexpr std::size_t kFeedBytesFirst = std::size_t{64} << 10;
inline constexpr std::size_t kFeedBytesMax = std::size_t{1} << 20;
// For reads that bypass the cache: small, so that other readers of the disk wait less.
inline constexpr std::size_t kBackgroundFeedBytesMax = std::size_t{256} << 10;
// Unwanted bytes that are read along, to read the blocks around them together.
inline constexpr std::size_t kFeedGapMax = std::size_t{16} << 10;

// Blocks that a scan begins to use.
inline void count_blocks(ScanStatistics& statistics, std::span<const Slice> blocks) {
  statistics.blocks_read += blocks.size();
  for (const Slice& block : blocks) statistics.bytes_read += block.size();
}

class BlockFeed {
 public:
  BlockFeed(const OpenChunk& chunk, bool use_cache) : chunk_(&chunk), use_cache_(use_cache) {}

  // Empty: the block must be loaded. load() reports a block that cannot be read.
  Slice get(std::uint32_t block);
  // How many bytes ahead the next load should cover.
  std::size_t window() const { return window_; }
  bool in_memory(std::uint32_t block) const;
  // Blocks in ascending order; those in memory are skipped.
  Task<Result<void>> load(std::vector<std::uint32_t> blocks);
  // Frees what was read ahead.
  void clear() { ranges_.clear(); }

 private:
  struct Range {
    std::uint64_t at = 0;
    Slice bytes;
    std::uint64_t end() const { return at + bytes.size(); }
  };
  const Range* range_of(const BlockInfo& info) const;
  ReadKind kind() const { return use_cache_ ? ReadKind::kSelect : ReadKind::kBackground; }

  const OpenChunk* chunk_;
  const bool use_cache_;
  std::size_t window_ = kFeedBytesFirst;
  std::deque<Range> ranges_;
  std::optional<Error> error_;
};

}  // namespace moraine::table
