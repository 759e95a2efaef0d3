#include "table/cache/slab_memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "base/epoch.h"
#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kClasses = kSlabClasses.size();
constexpr std::size_t kLarge = kClasses;
constexpr std::size_t kArenaBytesMin = std::size_t{16} << 10;
constexpr std::size_t kArenaItemsMin = 8;

// Arenas are aligned to their size, so that an item's address determines its arena.
constexpr std::size_t arena_bytes(std::size_t index) {
  return std::max(kArenaBytesMin, std::bit_ceil(kSlabClasses[index] * kArenaItemsMin));
}

struct FreeItem {
  FreeItem* next = nullptr;
};

// At the beginning of its memory; items follow.
struct alignas(kCacheLine) SlabArena {
  FreeItem* free = nullptr;
  std::size_t fresh = sizeof(SlabArena);  // Offset of the memory that was never allocated.
  std::size_t alive = 0;
  // Links of the class's arenas with free memory.
  SlabArena* previous = nullptr;
  SlabArena* next = nullptr;
};

SlabArena& arena_of(void* item, std::size_t index) {
  const auto address = reinterpret_cast<std::uintptr_t>(item);
  return *reinterpret_cast<SlabArena*>(address & ~(arena_bytes(index) - 1));
}

struct alignas(kCacheLine) SizeClass {
  mutable std::mutex mutex;
  SlabArena* roomy = nullptr;  // Arenas with free memory. Guarded by mutex, as all below.
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;
  std::size_t arenas_bytes = 0;

  void link(SlabArena& arena) {
    arena.previous = nullptr;
    arena.next = roomy;
    if (roomy != nullptr) roomy->previous = &arena;
    roomy = &arena;
  }
  void unlink(SlabArena& arena) {
    (arena.previous != nullptr ? arena.previous->next : roomy) = arena.next;
    if (arena.next != nullptr) arena.next->previous = arena.previous;
  }
};

bool has_room(const SlabArena& arena, std::size_t index) {
  return arena.free != nullptr || arena.fresh + kSlabClasses[index] <= arena_bytes(index);
}

void* take_item(SlabArena& arena, std::size_t index) {
  ++arena.alive;
  if (arena.free != nullptr) return std::exchange(arena.free, arena.free->next);
  void* item = reinterpret_cast<std::byte*>(&arena) + arena.fresh;
  arena.fresh += kSlabClasses[index];
  return item;
}

std::size_t class_of(std::size_t bytes) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kSlabClasses, bytes) -
                                  kSlabClasses.begin());
}

}  // namespace

struct SlabMemory::State {
  explicit State(std::size_t limit) : bytes_max(limit) {}
  ~State() {
    for (SizeClass& size_class : classes) {
      while (SlabArena* arena = size_class.roomy) {
        size_class.unlink(*arena);
        std::free(arena);
      }
    }
  }

  const std::size_t bytes_max;
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uint64_t> holders{1};  // The SlabMemory and its items.
  std::array<SizeClass, kClasses + 1> classes;

  bool reserve(std::size_t size) {
    std::size_t taken = bytes.load(std::memory_order_relaxed);
    do {
      if (size > bytes_max || taken > bytes_max - size) return false;
    } while (!bytes.compare_exchange_weak(taken, taken + size, std::memory_order_relaxed));
    return true;
  }
  void release(std::size_t size) { bytes.fetch_sub(size, std::memory_order_relaxed); }
  void drop() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  SlabArena* make_arena(std::size_t index);
  void* allocate_small(std::size_t index);
  void* allocate_large(std::size_t size);
  void free_small(void* item, std::size_t index);
  void free_large(void* item, std::size_t size);
  void free(void* item, std::size_t size) {
    const std::size_t index = class_of(size);
    if (index == kLarge) {
      free_large(item, size);
    } else {
      free_small(item, index);
    }
    drop();
  }
};

// Requires: the mutex of the class. Null: the limit is reached.
SlabArena* SlabMemory::State::make_arena(std::size_t index) {
  const std::size_t size = arena_bytes(index);
  if (!reserve(size)) return nullptr;
  void* memory = std::aligned_alloc(size, size);
  INVARIANT(memory != nullptr, "out of memory for {} bytes", size);
  auto* arena = new (memory) SlabArena;
  classes[index].link(*arena);
  classes[index].arenas_bytes += size;
  return arena;
}

void* SlabMemory::State::allocate_small(std::size_t index) {
  SizeClass& size_class = classes[index];
  const std::lock_guard lock(size_class.mutex);
  SlabArena* arena = size_class.roomy;
  if (arena == nullptr) arena = make_arena(index);
  if (arena == nullptr) return nullptr;
  void* item = take_item(*arena, index);
  if (!has_room(*arena, index)) size_class.unlink(*arena);
  ++size_class.allocated;
  return item;
}

void* SlabMemory::State::allocate_large(std::size_t size) {
  if (!reserve(size)) return nullptr;
  void* item = std::malloc(size);
  INVARIANT(item != nullptr, "out of memory for {} bytes", size);
  SizeClass& large = classes[kLarge];
  const std::lock_guard lock(large.mutex);
  ++large.allocated;
  large.arenas_bytes += size;
  return item;
}

void SlabMemory::State::free_small(void* item, std::size_t index) {
  SizeClass& size_class = classes[index];
  SlabArena& arena = arena_of(item, index);
  {
    const std::lock_guard lock(size_class.mutex);
    ++size_class.freed;
    if (!has_room(arena, index)) size_class.link(arena);
    arena.free = new (item) FreeItem{arena.free};
    // The last arena with free memory is kept, so that repeatedly allocating and freeing one item
    // makes no system calls.
    const bool only = size_class.roomy == &arena && arena.next == nullptr;
    if (--arena.alive != 0 || only) return;
    size_class.unlink(arena);
    size_class.arenas_bytes -= arena_bytes(index);
  }
  std::free(&arena);
  release(arena_bytes(index));
}

void SlabMemory::State::free_large(void* item, std::size_t size) {
  std::free(item);
  release(size);
  SizeClass& large = classes[kLarge];
  const std::lock_guard lock(large.mutex);
  ++large.freed;
  large.arenas_bytes -= size;
}

SlabMemory::SlabMemory(std::size_t bytes_max)
    : bytes_max_(bytes_max), state_(new State(bytes_max)) {}

SlabMemory::~SlabMemory() {
  state_->drop();
}

void* SlabMemory::allocate(std::size_t bytes) {
  const std::size_t index = class_of(bytes);
  void* item = index == kLarge ? state_->allocate_large(bytes) : state_->allocate_small(index);
  if (item != nullptr) state_->holders.fetch_add(1, std::memory_order_relaxed);
  return item;
}

void SlabMemory::free(void* item, std::size_t bytes) {
  state_->free(item, bytes);
}

void SlabMemory::retire(void* item, std::size_t bytes) {
  moraine::retire([state = state_, item, bytes] { state->free(item, bytes); });
}

std::array<SlabMemory::Rank, kSlabClasses.size() + 1> SlabMemory::ranks() const {
  std::array<Rank, kSlabClasses.size() + 1> all;
  for (std::size_t i = 0; i <= kClasses; ++i) {
    const SizeClass& size_class = state_->classes[i];
    const std::lock_guard lock(size_class.mutex);
    all[i] = {i == kLarge ? 0 : kSlabClasses[i], size_class.allocated - size_class.freed,
              size_class.allocated, size_class.freed, size_class.arenas_bytes};
  }
  return all;
}

std::size_t SlabMemory::bytes() const {
  return state_->bytes.load(std::memory_order_relaxed);
}

}  // namespace moraine::table
