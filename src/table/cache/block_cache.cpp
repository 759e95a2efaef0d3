#include "table/cache/block_cache.h"

#include <array>
#include <mutex>
#include <utility>

#include "base/epoch.h"
#include "base/invariant.h"
#include "table/cache/clock_ring.h"

namespace moraine::table {

struct CachedBlock {
  explicit CachedBlock(Slice slice, BlockSlot& owner) : bytes(std::move(slice)), slot(&owner) {}

  const Slice bytes;
  std::atomic<bool> used{false};
  // Guarded by the shard's mutex.
  BlockSlot* const slot;
  bool pinned = false;
  std::uint32_t place = 0;  // In the shard's ring, unless pinned.
};

namespace {

constexpr std::size_t kShards = 16;
constexpr std::size_t kCacheLine = 64;
// A slice that keeps more than this multiple of its size alive is copied.
constexpr std::size_t kHeldFactorMax = 2;
constexpr std::size_t kBlockShareMax = 8;

// Every change of a slot is made under the mutex of its shard.
struct alignas(kCacheLine) Shard {
  std::mutex mutex;
  ClockRing<CachedBlock> ring;
  std::size_t pinned = 0;

  std::size_t size() const { return ring.size() + pinned; }
};

}  // namespace

struct BlockCache::State {
  std::array<Shard, kShards> shards;
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> pinned_bytes{0};
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<std::uint64_t> evicted{0};
  std::atomic<std::size_t> next_shard{0};  // The next to evict from.

  // Neighbouring slots share a shard.
  Shard& shard_of(const BlockSlot& slot) {
    constexpr unsigned kNeighbourBits = 9;
    const auto group = reinterpret_cast<std::uintptr_t>(&slot) >> kNeighbourBits;
    return shards[(group * 0x9e3779b97f4a7c15U) >> 60];
  }
  bool evict_one();
  // Returns the bytes that this pinned: 0 when the slot had a pinned block.
  std::size_t put(BlockSlot& slot, CachedBlock* block, bool pinned);
};
static_assert(kShards == 16, "shard_of() takes four bits");

// False: nothing left to evict.
bool BlockCache::State::evict_one() {
  for (std::size_t i = 0; i < (kClockRounds + 1) * kShards; ++i) {
    Shard& shard = shards[next_shard.fetch_add(1, std::memory_order_relaxed) % kShards];
    CachedBlock* block = nullptr;
    {
      const std::lock_guard lock(shard.mutex);
      block = shard.ring.choose(i >= kClockRounds * kShards);
      if (block == nullptr) continue;
      shard.ring.leave(*block);
      block->slot->block_.store(nullptr, std::memory_order_release);
    }
    bytes.fetch_sub(block->bytes.size(), std::memory_order_relaxed);
    evicted.fetch_add(1, std::memory_order_relaxed);
    retire([block] { delete block; });
    return true;
  }
  return false;
}

// Inserts and counts the block, or drops it if the slot already has one.
std::size_t BlockCache::State::put(BlockSlot& slot, CachedBlock* block, bool pinned) {
  const std::size_t size = block->bytes.size();
  std::size_t newly_pinned = 0;
  Shard& shard = shard_of(slot);
  {
    const std::lock_guard lock(shard.mutex);
    CachedBlock* present = slot.block_.load(std::memory_order_relaxed);
    if (present == nullptr) {
      block->pinned = pinned;
      if (pinned) {
        ++shard.pinned;
        newly_pinned = size;
      } else {
        shard.ring.enter(*block);
        bytes.fetch_add(size, std::memory_order_relaxed);
      }
      slot.block_.store(block, std::memory_order_release);
      block = nullptr;
    } else if (pinned && !present->pinned) {
      shard.ring.leave(*present);
      present->pinned = true;
      ++shard.pinned;
      newly_pinned = present->bytes.size();
      bytes.fetch_sub(newly_pinned, std::memory_order_relaxed);
    }
  }
  if (block == nullptr) {
    inserted.fetch_add(1, std::memory_order_relaxed);
  } else {
    delete block;  // Never published.
  }
  pinned_bytes.fetch_add(newly_pinned, std::memory_order_relaxed);
  return newly_pinned;
}

BlockCache::BlockCache(std::size_t bytes_max, PinnedMemory* pinned)
    : bytes_max_(bytes_max), pinned_(pinned), state_(std::make_unique<State>()) {}

BlockCache::~BlockCache() {
  for (Shard& shard : state_->shards) {
    INVARIANT(shard.size() == 0, "a block cache is destroyed with {} blocks in it", shard.size());
  }
}

const Slice* BlockCache::find(const BlockSlot& slot) {
  CachedBlock* block = slot.block_.load(std::memory_order_acquire);
  if (block == nullptr) return nullptr;
  if (!block->used.load(std::memory_order_relaxed)) {
    block->used.store(true, std::memory_order_relaxed);
  }
  return &block->bytes;
}

namespace {

Slice compact(Slice bytes) {
  if (bytes.held_bytes() / kHeldFactorMax <= bytes.size()) return bytes;
  return Slice::copy_of(bytes.span());
}

}  // namespace

void BlockCache::insert(BlockSlot& slot, Slice bytes) {
  const std::size_t size = bytes.size();
  if (size > bytes_max_ / kBlockShareMax) return;
  while (state_->bytes.load(std::memory_order_relaxed) + size > bytes_max_) {
    if (!state_->evict_one()) break;
  }
  state_->put(slot, new CachedBlock(compact(std::move(bytes)), slot), false);
}

bool BlockCache::pin(BlockSlot& slot, Slice bytes) {
  const std::size_t size = bytes.size();
  if (pinned_ != nullptr && !pinned_->try_take(size)) return false;
  // All copies of a block have the same size.
  const std::size_t taken =
      state_->put(slot, new CachedBlock(compact(std::move(bytes)), slot), true);
  INVARIANT(taken == 0 || taken == size, "a block of {} bytes was pinned as one of {}", size,
            taken);
  if (pinned_ != nullptr && taken == 0) pinned_->release(size);
  return true;
}

void BlockCache::forget(std::span<BlockSlot> slots) {
  for (BlockSlot& slot : slots) {
    // The thread that emptied the slot does not touch it again.
    if (slot.block_.load(std::memory_order_acquire) == nullptr) continue;
    CachedBlock* block = nullptr;
    {
      Shard& shard = state_->shard_of(slot);
      const std::lock_guard lock(shard.mutex);
      block = slot.block_.exchange(nullptr, std::memory_order_acq_rel);
      if (block == nullptr) continue;
      if (block->pinned) {
        --shard.pinned;
      } else {
        shard.ring.leave(*block);
      }
    }
    (block->pinned ? state_->pinned_bytes : state_->bytes)
        .fetch_sub(block->bytes.size(), std::memory_order_relaxed);
    if (block->pinned && pinned_ != nullptr) pinned_->release(block->bytes.size());
    retire([block] { delete block; });
  }
}

BlockCache::Statistics BlockCache::statistics() const {
  Statistics statistics;
  statistics.bytes = state_->bytes.load(std::memory_order_relaxed);
  statistics.pinned_bytes = state_->pinned_bytes.load(std::memory_order_relaxed);
  statistics.inserted = state_->inserted.load(std::memory_order_relaxed);
  statistics.evicted = state_->evicted.load(std::memory_order_relaxed);
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    statistics.blocks += shard.size();
  }
  return statistics;
}

}  // namespace moraine::table
