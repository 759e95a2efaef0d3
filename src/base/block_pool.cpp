#include "base/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/invariant.h"

namespace moraine::detail {
namespace {

constexpr std::size_t kExactPages = 8;
// Blocks of at least this size get their own mapping: in the heap they would fragment it.
constexpr std::size_t kMappedBytesMin = std::size_t{2} << 20;

// Blocks from this size on may come from the next larger classes, up to less than twice the size:
// the page faults of a fresh block cost more than the slack, which was idle memory before.
constexpr std::size_t kFlexibleBytesMin = std::size_t{256} << 10;
constexpr std::size_t kLargerClasses = 3;

// Idle blocks are linked through their own memory.
Block* next_of(const Block* block) {
  Block* next = nullptr;
  std::memcpy(&next, block->data, sizeof(next));
  return next;
}

void set_next(Block* block, const Block* next) {
  std::memcpy(block->data, &next, sizeof(next));
}

}  // namespace

Block* make_aligned_block(std::size_t capacity) {
  auto* block = new Block;
  block->capacity = capacity;
  if (capacity < kMappedBytesMin) {
    block->data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
    INVARIANT(block->data != nullptr, "out of memory for {} bytes", capacity);
    return block;
  }
  void* const mapped =
      mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  INVARIANT(mapped != MAP_FAILED, "out of memory for {} bytes", capacity);
  block->data = static_cast<std::byte*>(mapped);
  return block;
}

void free_aligned_block(Block* block) noexcept {
  if (block->capacity < kMappedBytesMin) {
    std::free(block->data);
  } else {
    munmap(block->data, block->capacity);
  }
  delete block;
}

BlockPool& shared_block_pool() {
  static auto* const pool = new BlockPool(kIdleBlockBytesMax);
  return *pool;
}

BlockPool::~BlockPool() {
  for (std::size_t index = 0; index < kClasses; ++index) {
    while (Block* block = pop(index)) free_aligned_block(block);
  }
}

BlockPool::SizeClass BlockPool::class_of(std::size_t size) {
  const std::size_t pages = (size + kAlignment - 1) / kAlignment;
  if (pages <= kExactPages) return {pages - 1, pages * kAlignment};
  // quarters << shift is the least number of pages that suffices, with quarters of 5 to 8.
  const auto shift = static_cast<std::size_t>(std::bit_width(pages - 1)) - 3;
  const std::size_t quarters = ((pages - 1) >> shift) + 1;
  return {kExactPages + (shift - 1) * 4 + quarters - 5, (quarters << shift) * kAlignment};
}

Block* BlockPool::pop(std::size_t index) {
  Block* block = idle_[index];
  if (block == nullptr) return nullptr;
  idle_[index] = next_of(block);
  idle_bytes_ -= block->capacity;
  return block;
}

void BlockPool::push(std::size_t index, Block* block) {
  set_next(block, idle_[index]);
  idle_[index] = block;
  idle_bytes_ += block->capacity;
}

Block* BlockPool::take(std::size_t size) {
  const SizeClass wanted = class_of(size);
  Block* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t last =
        wanted.capacity < kFlexibleBytesMin ? wanted.index : wanted.index + kLargerClasses;
    for (std::size_t i = wanted.index; block == nullptr && i <= std::min(last, kClasses - 1); ++i) {
      block = pop(i);
    }
  }
  if (block == nullptr) return make_aligned_block(wanted.capacity);
  block->references.store(1, std::memory_order_relaxed);
  return block;
}

void BlockPool::give(Block* block) noexcept {
  const std::size_t index = class_of(block->capacity).index;
  Block* evicted = nullptr;  // Linked like the idle ones.
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t largest = kClasses; idle_bytes_ + block->capacity > bytes_max_;) {
      while (largest > index && idle_[largest - 1] == nullptr) --largest;
      if (largest <= index + 1) break;
      Block* victim = pop(largest - 1);
      set_next(victim, evicted);
      evicted = victim;
    }
    if (idle_bytes_ + block->capacity <= bytes_max_) {
      push(index, std::exchange(block, nullptr));
    }
  }
  if (block != nullptr) free_aligned_block(block);
  while (evicted != nullptr) free_aligned_block(std::exchange(evicted, next_of(evicted)));
}

std::size_t BlockPool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace moraine::detail
