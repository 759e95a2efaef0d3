// SlabMemory: memory for cached rows in size classes, within a limit, with statistics of its use.
//
// Promise    allocate() returns memory, or null at the limit; it never blocks. Statistics per
//            class: live items, allocations and frees since the start, bytes of arenas. An arena
//            whose items are all free is returned to the system, so that other classes can grow.
// Threading  Any thread.
// Tests      slab_memory_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace moraine::table {

// Bytes of an item; larger ones are `large`. Powers of two, and one and a half times these: where
// the list of YTsaurus' ranks has 1022 and 22576, this has 1024 and 24576.
inline constexpr std::array<std::size_t, 22> kSlabClasses = {
    16,   32,   48,   64,   96,   128,  192,  256,   384,   512,   768,
    1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

class SlabMemory {
 public:
  explicit SlabMemory(std::size_t bytes_max);
  SlabMemory(const SlabMemory&) = delete;
  SlabMemory& operator=(const SlabMemory&) = delete;
  ~SlabMemory();

  // Null: the limit is reached.
  void* allocate(std::size_t bytes);
  void free(void* item, std::size_t bytes);
  // Frees the item once all present EpochGuards have ended; that may be after the SlabMemory was
  // destroyed.
  void retire(void* item, std::size_t bytes);

  struct Rank {
    std::size_t item_bytes = 0;  // 0: large.
    std::uint64_t alive_items = 0;
    std::uint64_t allocated_items = 0;
    std::uint64_t freed_items = 0;
    std::size_t arena_bytes = 0;
  };
  std::array<Rank, kSlabClasses.size() + 1> ranks() const;
  std::size_t bytes() const;
  std::size_t bytes_max() const { return bytes_max_; }

 private:
  struct State;
  const std::size_t bytes_max_;
  State* const state_;  // Freed with the last of the SlabMemory and its items.
};

}  // namespace moraine::table
