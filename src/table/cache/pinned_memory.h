// PinnedMemory: limits the bytes of blocks that stay in memory whether or not they are used
// (in_memory_mode), counted over all caches of a node.
//
// Promise    try_take() never exceeds the limit.
// Threading  Any thread.
// Tests      block_cache_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>

namespace moraine::table {

inline constexpr std::size_t kPinnedBytesDefault = std::size_t{1} << 30;

class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  bool try_take(std::size_t bytes) {
    std::size_t taken = bytes_.load(std::memory_order_relaxed);
    do {
      const std::size_t most = bytes_max();
      if (taken > most || bytes > most - taken) return false;
    } while (!bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void release(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  // A limit below what is taken evicts nothing, but permits nothing more.
  void set_bytes_max(std::size_t bytes) { bytes_max_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_max_;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace moraine::table
