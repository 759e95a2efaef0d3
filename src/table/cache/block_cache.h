// BlockCache: blocks of chunks in memory, within a limit of bytes shared by all tablets of a node.
//
// Promise    A block that is there is found with one atomic load, on any thread, without a lock or
//            a count. Blocks that were not used for a while go first (CLOCK). The limit is kept
//            but for what is being inserted. Pinned blocks stay until they are forgotten; they
//            count against PinnedMemory alone.
// Invariants A slot belongs to one chunk reader and one cache; it is emptied before it is destroyed
//            (forget()).
// Threading  Any thread. find() under an EpochGuard; what it gives lives until the guard ends; to
//            keep it longer copy the Slice.
// Tests      block_cache_test.cpp, block_cache_threads_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "table/cache/pinned_memory.h"

namespace moraine::table {

struct CachedBlock;

// Where a chunk reader keeps one of its blocks.
class BlockSlot {
 public:
  BlockSlot() = default;
  BlockSlot(const BlockSlot&) = delete;
  BlockSlot& operator=(const BlockSlot&) = delete;

 private:
  friend class BlockCache;
  std::atomic<CachedBlock*> block_{nullptr};
};

class BlockCache {
 public:
  // `pinned` outlives it; null: pinned blocks have no limit.
  explicit BlockCache(std::size_t bytes_max, PinnedMemory* pinned = nullptr);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();  // Requires: every slot was forgotten.

  // Null: not there. Marks it as used.
  static const Slice* find(const BlockSlot& slot);
  // Brings close to the processor what find() looks at; a hint.
  static void prefetch(const BlockSlot& slot) {
    __builtin_prefetch(slot.block_.load(std::memory_order_acquire));
  }
  // Puts the block in; another one that got there first stays. A block above an eighth of the limit
  // is not kept.
  void insert(BlockSlot& slot, Slice bytes);
  // Puts the block in, or pins the one that is there. False: it would pass the limit of pinned
  // bytes, and the slot is as it was.
  [[nodiscard]] bool pin(BlockSlot& slot, Slice bytes);
  void forget(std::span<BlockSlot> slots);

  struct Statistics {
    std::size_t bytes = 0;
    std::size_t pinned_bytes = 0;
    std::size_t blocks = 0;
    std::uint64_t inserted = 0;
    std::uint64_t evicted = 0;
  };
  Statistics statistics() const;
  std::size_t bytes_max() const { return bytes_max_; }
  // Null: there is no limit.
  const PinnedMemory* pinned_memory() const { return pinned_; }

 private:
  struct State;
  const std::size_t bytes_max_;
  PinnedMemory* const pinned_;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::table
