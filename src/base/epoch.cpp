#include "base/epoch.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace moraine {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::uint64_t kIdle = 0;
// One retire() in this many checks which callbacks may run.
constexpr std::size_t kRetiredPerCollection = 64;
constexpr std::size_t kSlotsPerBlock = 64;

// One for each thread that took a guard; reused by another thread when this one ends.
struct alignas(kCacheLine) Slot {
  std::atomic<std::uint64_t> epoch{kIdle};  // Epoch of the outermost guard.
  std::atomic<bool> taken{false};
};

// Slots are made in blocks, which are never freed.
struct SlotBlock {
  std::array<Slot, kSlotsPerBlock> slots;
  SlotBlock* next = nullptr;  // Older.
};

struct Retired {
  std::uint64_t epoch = 0;
  std::move_only_function<void()> free;
};

// A guard publishes the epoch that it saw. retire() moves the epoch on after its caller has made
// the object unreachable: a guard that saw a later epoch cannot have loaded the object, and an
// earlier one keeps it alive.
struct Epochs {
  alignas(kCacheLine) std::atomic<std::uint64_t> now{1};
  alignas(kCacheLine) std::atomic<SlotBlock*> newest{nullptr};
  std::atomic<std::size_t> running{0};  // Callbacks taken from `line` and not finished.
  std::mutex mutex;
  std::deque<Retired> line;         // Oldest first. Guarded by mutex.
  std::size_t since_collected = 0;  // Retired since the last collection. Guarded by mutex.
};

// Never destroyed: threads may outlive static objects.
Epochs& epochs() {
  static auto* const all = new Epochs;
  return *all;
}

struct ThreadState {
  Slot* slot = nullptr;
  const std::atomic<std::uint64_t>* now = nullptr;
  std::uint32_t depth = 0;
  bool collecting = false;
};
constinit thread_local ThreadState this_thread;

struct SlotReturn {
  bool armed = false;
  ~SlotReturn() {
    if (this_thread.slot == nullptr) return;
    this_thread.slot->taken.store(false, std::memory_order_release);
    this_thread.slot = nullptr;
  }
};
thread_local SlotReturn slot_return;

// Null: all are taken.
Slot* take_free_slot(SlotBlock* newest) {
  for (SlotBlock* block = newest; block != nullptr; block = block->next) {
    for (Slot& slot : block->slots) {
      if (slot.taken.load(std::memory_order_relaxed)) continue;
      if (!slot.taken.exchange(true, std::memory_order_acq_rel)) return &slot;
    }
  }
  return nullptr;
}

// A block whose first slot is the caller's. Collectors find it before the slot has its first epoch.
Slot* add_block(Epochs& all) {
  auto* const block = new SlotBlock;
  block->slots.front().taken.store(true, std::memory_order_relaxed);
  block->next = all.newest.load();
  while (!all.newest.compare_exchange_weak(block->next, block)) {
  }
  return &block->slots.front();
}

[[gnu::noinline]] void take_slot() {
  Epochs& all = epochs();
  Slot* slot = take_free_slot(all.newest.load());
  if (slot == nullptr) slot = add_block(all);
  slot_return.armed = true;  // Makes the thread's end run its destructor.
  this_thread.now = &all.now;
  this_thread.slot = slot;
}

// The epoch of the oldest guard.
std::uint64_t oldest_guard(const Epochs& all) {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const SlotBlock* block = all.newest.load(); block != nullptr; block = block->next) {
    for (const Slot& slot : block->slots) {
      const std::uint64_t epoch = slot.epoch.load();
      if (epoch != kIdle && epoch < oldest) oldest = epoch;
    }
  }
  return oldest;
}

// Requires: the mutex.
std::vector<Retired> take_free(Epochs& all) {
  all.since_collected = 0;
  const std::uint64_t oldest = oldest_guard(all);
  std::vector<Retired> free;
  while (!all.line.empty() && all.line.front().epoch < oldest) {
    free.push_back(std::move(all.line.front()));
    all.line.pop_front();
  }
  all.running.fetch_add(free.size());
  return free;
}

void run(Epochs& all, std::vector<Retired>& free) {
  const bool outer = std::exchange(this_thread.collecting, true);
  for (Retired& retired : free) {
    retired.free();
    retired.free = nullptr;
    all.running.fetch_sub(1);
  }
  this_thread.collecting = outer;
}

}  // namespace

EpochGuard::EpochGuard() {
  ThreadState& thread = this_thread;
  if (thread.depth++ != 0) return;
  if (thread.slot == nullptr) [[unlikely]]
    take_slot();
  // Sequentially consistent: either retire() sees the guard, or the guard sees what was retired.
  thread.slot->epoch.exchange(thread.now->load(std::memory_order_acquire));
#if !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

EpochGuard::~EpochGuard() {
  ThreadState& thread = this_thread;
  if (--thread.depth != 0) return;
  thread.slot->epoch.store(kIdle, std::memory_order_release);
}

void retire(std::move_only_function<void()> free) {
  Epochs& all = epochs();
  std::vector<Retired> ready;
  {
    const std::lock_guard lock(all.mutex);
    all.line.push_back({all.now.fetch_add(1), std::move(free)});
    const bool many = all.line.size() > kRetiredMax;
    if (++all.since_collected < kRetiredPerCollection && !many) return;
    if (this_thread.collecting) return;  // Called from a callback: a later call collects it.
    ready = take_free(all);
  }
  run(all, ready);
}

bool run_retired() {
  Epochs& all = epochs();
  std::vector<Retired> ready;
  {
    const std::lock_guard lock(all.mutex);
    ready = take_free(all);
  }
  run(all, ready);
  const std::lock_guard lock(all.mutex);
  return all.line.empty() && all.running.load() == 0;
}

}  // namespace moraine
