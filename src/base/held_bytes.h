// What slices keep in memory beyond what they show.
//
// Promise    Pure. A run is slices one after another that lie side by side, as parts of one block
//            do; its block counts once.
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
  const std::byte* end_ = nullptr;  // Of the last slice.
  std::size_t block_ = 0;           // What it keeps alive.
  std::size_t total_ = 0;
};

// Runs that show less than half of their block get memory of their own, so that all that the slices
// keep alive is at most about twice what they show.
void let_go_of_large_blocks(std::span<Slice* const> slices);

}  // namespace moraine
