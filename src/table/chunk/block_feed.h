// BlockFeed: blocks of a chunk for a reader that goes forward: from memory, or from ranges of blobs
// that were read ahead.
//
// Promise    get() never waits. load() reads the blocks that it is told, neighbours together, and
//            get() gives them then. Blocks are unpacked where get() is called.
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
// Past the cache: whoever reads a block meanwhile waits for less.
inline constexpr std::size_t kBackgroundFeedBytesMax = std::size_t{256} << 10;
// Bytes that are read though nobody wants them, to read what is around them together.
inline constexpr std::size_t kFeedGapMax = std::size_t{16} << 10;

class BlockFeed {
 public:
  BlockFeed(const OpenChunk& chunk, bool use_cache) : chunk_(&chunk), use_cache_(use_cache) {}

  // Empty: it must be loaded. A block that cannot be read is told by load().
  Slice get(std::uint32_t block);
  // How many bytes ahead the next load should be told of.
  std::size_t window() const { return window_; }
  bool in_memory(std::uint32_t block) const;
  // Blocks in ascending order; those that are in memory are left out.
  Task<Result<void>> load(std::vector<std::uint32_t> blocks);

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
