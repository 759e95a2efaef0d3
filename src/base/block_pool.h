// BlockPool: freed large blocks kept for the next buffers of their size.
//
// Promise    Recently used memory is reused without the page faults and system calls that a fresh
//            block of this size costs. Blocks are aligned to kAlignment.
// Why        malloc returns large blocks to the system at once, and getting a fresh one costs more
//            than encoding or checksumming its contents.
// Threading  Any thread; a few instructions under one lock. System calls are made outside the lock.
// Limits     kPooledBlockBytesMin..kPooledBlockBytesMax a block; at most `bytes_max` idle bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/bytes.h"

namespace moraine::detail {

inline constexpr std::size_t kPooledBlockBytesMin = kAlignment;
inline constexpr std::size_t kPooledBlockBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kIdleBlockBytesMax = std::size_t{64} << 20;

class BlockPool {
 public:
  explicit BlockPool(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  // A block for `size` bytes with one reference; contents are undefined. Its capacity is a whole
  // number of pages and exceeds what is needed by a quarter at most, or is less than 2.5 times as
  // much when it is large and was idle.
  // Requires: kPooledBlockBytesMin <= size <= kPooledBlockBytesMax.
  Block* take(std::size_t size);
  // Returns an unreferenced block of take() to the pool. Past `bytes_max` the largest idle blocks
  // are freed.
  void give(Block* block) noexcept;

  std::size_t idle_bytes() const;

 private:
  // One size class per page up to eight pages, then four per doubling.
  static constexpr std::size_t kClasses = 44;
  struct SizeClass {
    std::size_t index = 0;
    std::size_t capacity = 0;
  };
  static SizeClass class_of(std::size_t size);

  Block* pop(std::size_t index);
  void push(std::size_t index, Block* block);

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::array<Block*, kClasses> idle_{};  // Lists, last freed first. Guarded by mutex_.
  std::size_t idle_bytes_ = 0;           // Guarded by mutex_.
};

// The pool of all Buffers; lives as long as the program.
BlockPool& shared_block_pool();

// Allocated from the system, not the pool. Requires: capacity is a multiple of kAlignment.
Block* make_aligned_block(std::size_t capacity);
void free_aligned_block(Block* block) noexcept;

}  // namespace moraine::detail
