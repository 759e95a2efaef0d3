// The memory that slices keep alive, which may be more than the bytes that they view.
//
// Promise    Pure. A run is consecutive slices that are adjacent in memory, as parts of one block
//            are; its block counts once.
// Tests      held_bytes_test.cpp
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"

namespace moraine {

class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(std::span<const Slice> slices) {
    for (const Slice& slice : slices) add(slice);
  }

  void add(const Slice& slice);
  // The blocks, and the slices themselves.
  std::size_t total() const { return total_; }

 private:
  const std::byte* end_ = nullptr;  // End of the last slice.
  std::size_t block_ = 0;           // Bytes that the last slice keeps alive.
  std::size_t total_ = 0;
};

// Copies runs that view less than half of their block and releases the block, so that the slices
// keep alive at most about twice the bytes that they view.
void release_large_blocks(std::span<Slice* const> slices);

}  // namespace moraine
