// The memory that slices keep alive, which may be more than the bytes that they view.
//
// Promise    Pure. A block counts once for its slices, also when slices of up to kRecentBlocks - 1
//            other blocks alternate with them. Slices are of one block when they fit into its size:
//            two blocks of equal size side by side in memory may count as one.
// Tests      held_bytes_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/bytes.h"

namespace moraine {

class HeldBytes {
 public:
  static constexpr std::size_t kRecentBlocks = 4;

  HeldBytes() = default;
  explicit HeldBytes(std::span<const Slice> slices) {
    for (const Slice& slice : slices) add(slice);
  }

  void add(const Slice& slice);
  // The blocks, and the slices themselves.
  std::size_t total() const { return total_; }

 private:
  struct Block {
    const std::byte* from = nullptr;  // The part that slices view.
    const std::byte* to = nullptr;
    std::size_t bytes = 0;
  };
  std::array<Block, kRecentBlocks> recent_;
  std::size_t oldest_ = 0;  // Of these.
  std::size_t total_ = 0;
};

// Copies runs that view less than half of their block and releases the block, so that the slices
// keep alive at most about twice the bytes that they view.
void release_large_blocks(std::span<Slice* const> slices);

}  // namespace moraine
