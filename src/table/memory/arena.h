// Arena: memory that is allocated bit by bit and freed all at once.
//
// Promise    An allocation does not move as long as the arena lives. No destructors are run.
// Threading  One thread; allocated memory may be read on any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace moraine::table {

class Arena {
 public:
  // Requires: alignment is a power of two, at most kCacheLineBytes.
  void* allocate(std::size_t bytes, std::size_t alignment = sizeof(void*)) {
    std::uintptr_t at = (next_ + alignment - 1) & ~(alignment - 1);
    if (at + bytes > end_) [[unlikely]] {
      grow(bytes + kCacheLineBytes);
      at = (next_ + alignment - 1) & ~(alignment - 1);
    }
    used_ += at + bytes - next_;
    next_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }
  // Bytes of all allocations.
  std::size_t used() const { return used_; }

  static constexpr std::size_t kCacheLineBytes = 64;

 private:
  static constexpr std::size_t kBlockBytesMin = std::size_t{4} << 10;
  static constexpr std::size_t kBlockBytesMax = std::size_t{1} << 20;

  // The rest of the last block is wasted.
  void grow(std::size_t bytes_min) {
    blocks_.emplace_back(std::max(block_bytes_, bytes_min));
    next_ = reinterpret_cast<std::uintptr_t>(blocks_.back().data());
    end_ = next_ + blocks_.back().size();
    block_bytes_ = std::min(block_bytes_ * 2, kBlockBytesMax);
  }

  std::vector<Buffer> blocks_;
  std::uintptr_t next_ = 0;
  std::uintptr_t end_ = 0;
  std::size_t used_ = 0;
  std::size_t block_bytes_ = kBlockBytesMin;
};

}  // namespace moraine::table
