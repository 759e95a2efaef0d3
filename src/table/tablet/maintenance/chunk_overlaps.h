// ChunkOverlaps: which chunks of a list share keys.
//
// Promise    Pure. Takes n log n comparisons of keys, and as many steps as there are pairs. Where
//            more than kOverlapsMax chunks overlap not all pairs are listed, and complete() is
//            false.
// Threading  Plain data.
// Tests      chunk_overlaps_test.cpp, dead_space_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "table/chunk/chunk.h"

namespace moraine::table {

// Maximum number of earlier chunks that are listed as overlapping a chunk.
inline constexpr std::size_t kOverlapsMax = 128;

class ChunkOverlaps {
 public:
  explicit ChunkOverlaps(std::span<const ChunkRecord* const> chunks);

  // Indexes of the chunks that share keys with this one, in no order.
  std::span<const std::uint32_t> of(std::size_t chunk) const {
    return std::span(others_).subspan(begins_[chunk], begins_[chunk + 1] - begins_[chunk]);
  }
  bool complete() const { return complete_; }
  std::uint64_t steps() const { return steps_; }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Pair> find_pairs(std::span<const ChunkRecord* const> chunks);

  std::vector<std::uint32_t> others_;
  std::vector<std::size_t> begins_;
  bool complete_ = true;
  std::uint64_t steps_ = 0;
};

}  // namespace moraine::table
