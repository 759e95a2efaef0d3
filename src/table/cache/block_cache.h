// BlockCache: blocks of chunks in memory, within a limit of bytes shared by all tablets of a node.
//
// Promise    A cached block is found with one atomic load, on any thread, without a lock or a
//            reference count. Blocks that were not used recently are evicted first (CLOCK). The
//            limit holds except for blocks that are being inserted. Pinned blocks stay until
//            forget(); they count only against PinnedMemory.
// Invariants A slot belongs to one chunk reader and one cache; it is emptied (forget()) before it
//            is destroyed.
// Threading  Any thread. find() under an EpochGuard; its result is valid until the guard ends; to
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

// A chunk reader's slot for one of its blocks.
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
  // `pinned` must outlive the cache; null: pinned blocks have no limit.
  explicit BlockCache(std::size_t bytes_max, PinnedMemory* pinned = nullptr);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();  // Requires: forget() was called for every slot.

  // Null: not cached. Marks the block as used.
  static const Slice* find(const BlockSlot& slot);
  // Prefetches what find() reads; a hint.
  static void prefetch(const BlockSlot& slot) {
    __builtin_prefetch(slot.block_.load(std::memory_order_acquire));
  }
  // Inserts the block, unless the slot already has one. A block above an eighth of the limit is not
  // cached.
  void insert(BlockSlot& slot, Slice bytes);
  // Inserts the block pinned, or pins the cached one. False: it would exceed the limit of pinned
  // bytes; the slot is unchanged.
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
  // Null: no limit.
  const PinnedMemory* pinned_memory() const { return pinned_; }

 private:
  struct State;
  const std::size_t bytes_max_;
  PinnedMemory* const pinned_;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::table
