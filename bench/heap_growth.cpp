#include "bench/heap_growth.h"

#include <malloc.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/invariant.h"

namespace moraine::bench {
namespace {

constexpr std::size_t kShards = 16;

struct alignas(64) Shard {
  std::atomic<std::int64_t> bytes;
};

constinit std::atomic<bool> counting = false;
constinit std::array<Shard, kShards> shards{};
constinit std::atomic<std::size_t> threads = 0;

void count(std::int64_t bytes) {
  thread_local const std::size_t own = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
  shards[own].bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    memory = std::malloc(size);
  } else {
    memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  if (memory != nullptr && counting.load(std::memory_order_relaxed)) [[unlikely]] {
    count(static_cast<std::int64_t>(malloc_usable_size(memory)));
  }
  return memory;
}

void* allocate_or_end(std::size_t size, std::size_t alignment = 1) {
  void* memory = allocate(size == 0 ? 1 : size, alignment);
  INVARIANT(memory != nullptr, "out of memory for {} bytes", size);
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && counting.load(std::memory_order_relaxed)) [[unlikely]] {
    count(-static_cast<std::int64_t>(malloc_usable_size(memory)));
  }
  std::free(memory);
}

}  // namespace

HeapGrowth::HeapGrowth() {
  for (Shard& shard : shards) shard.bytes = 0;
  INVARIANT(!counting.exchange(true), "two measurements of the heap at once");
}

HeapGrowth::~HeapGrowth() {
  counting = false;
}

double HeapGrowth::bytes() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.bytes.load();
  return static_cast<double>(sum);
}

}  // namespace moraine::bench

using moraine::bench::allocate;
using moraine::bench::allocate_or_end;
using moraine::bench::release;

// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t size) {
  return allocate_or_end(size);
}
void* operator new[](std::size_t size) {
  return allocate_or_end(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_end(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_end(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size == 0 ? 1 : size, 1);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size == 0 ? 1 : size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size == 0 ? 1 : size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size == 0 ? 1 : size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
  release(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  release(memory);
}
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept {
  release(memory);
}
// NOLINTEND(misc-new-delete-overloads)
