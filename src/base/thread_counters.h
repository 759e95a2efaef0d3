// ThreadCounters: sums that many threads add to, each thread in its own memory.
//
// Promise    No addition is lost when threads start and end: a sum includes every addition that
//            happens before it. An addition is a load and a store, without a locked instruction,
//            which would keep one lookup from overlapping with the next.
// Invariants A shard is written by one thread at a time, except the last one, which is shared.
// Threading  Any thread. A Shard is used only by the thread that obtained it, and not across a
//            co_await.
// Limits     kThreadShards - 1 threads have a shard of their own at a time; others share the last
//            one, by atomic additions.
// Tests      thread_counters_test.cpp, thread_counters_threads_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace moraine {

inline constexpr std::size_t kThreadShards = 32;

namespace detail {
inline constinit thread_local std::uint32_t thread_number_plus_one = 0;
std::uint32_t assign_thread_number();
}  // namespace detail

// A small number that no other thread has while this one runs; numbers are used again.
inline std::uint32_t thread_number() {
  const std::uint32_t known = detail::thread_number_plus_one;
  return known != 0 ? known - 1 : detail::assign_thread_number();
}

template <std::size_t N>
class ThreadCounters {
  struct alignas(64) Counts {
    std::array<std::atomic<std::uint64_t>, N> at{};
  };

 public:
  class Shard {
   public:
    void add(std::size_t counter, std::uint64_t by) {
      std::atomic<std::uint64_t>& count = counts_->at[counter];
      if (shared_) [[unlikely]] {
        count.fetch_add(by, std::memory_order_relaxed);
      } else {
        count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
      }
    }
    // For values that only this thread uses. Requires: !shared().
    std::uint64_t get(std::size_t counter) const {
      return counts_->at[counter].load(std::memory_order_relaxed);
    }
    void set(std::size_t counter, std::uint64_t value) {
      counts_->at[counter].store(value, std::memory_order_relaxed);
    }
    bool shared() const { return shared_; }

   private:
    friend class ThreadCounters;
    Shard(Counts* counts, bool shared) : counts_(counts), shared_(shared) {}
    Counts* counts_;
    bool shared_;
  };

  ThreadCounters() = default;
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;
  ~ThreadCounters() {
    for (std::atomic<Counts*>& shard : shards_) delete shard.load(std::memory_order_acquire);
  }

  // The shard of this thread.
  Shard here() {
    const std::size_t number = std::min<std::size_t>(thread_number(), kThreadShards - 1);
    Counts* counts = shards_[number].load(std::memory_order_acquire);
    if (counts == nullptr) [[unlikely]]
      counts = make(number);
    return Shard(counts, number == kThreadShards - 1);
  }
  void add(std::size_t counter, std::uint64_t by) { here().add(counter, by); }

  std::uint64_t sum(std::size_t counter) const {
    std::uint64_t sum = 0;
    for (const std::atomic<Counts*>& shard : shards_) {
      const Counts* counts = shard.load(std::memory_order_acquire);
      if (counts != nullptr) sum += counts->at[counter].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  Counts* make(std::size_t number) {
    auto* made = new Counts();
    Counts* present = nullptr;
    if (shards_[number].compare_exchange_strong(present, made, std::memory_order_acq_rel)) {
      return made;
    }
    delete made;  // Another thread was first in the shared shard.
    return present;
  }

  std::array<std::atomic<Counts*>, kThreadShards> shards_{};
};

// Durations of calls, in buckets that end at powers of two nanoseconds. Calls that take less time
// than reading the clock twice may be sampled: one in kCallsPerSample is timed, and its duration is
// used for the calls that follow it on the same thread. Every call is counted.
class ThreadHistogram {
 public:
  static constexpr std::uint64_t kCallsPerSample = 16;
  static constexpr std::size_t kPowerMax = 40;  // Longer ones, above 18 min, are in its bucket.

  // Whether the next call is to be timed.
  bool wants_sample() {
    auto shard = counters_.here();
    if (shard.shared() || shard.get(kCallsLeft) == 0) return true;
    shard.set(kCallsLeft, shard.get(kCallsLeft) - 1);
    return false;
  }
  // observe_sample: a call for which wants_sample() was true. observe_untimed: one for which it was
  // false, counted with the duration of the last sample.
  void observe_sample(std::uint64_t nanoseconds) {
    auto shard = counters_.here();
    add(shard, nanoseconds);
    if (shard.shared()) return;
    shard.set(kCallsLeft, kCallsPerSample - 1);
    shard.set(kLastSample, nanoseconds);
  }
  void observe_untimed() {
    auto shard = counters_.here();
    add(shard, shard.shared() ? 0 : shard.get(kLastSample));
  }
  // Any other call.
  void observe(std::uint64_t nanoseconds) {
    auto shard = counters_.here();
    add(shard, nanoseconds);
  }

  std::uint64_t count() const { return count_below(kPowerMax); }
  std::uint64_t sum() const { return counters_.sum(kSum); }
  // How many took less than 2^power nanoseconds. At kPowerMax: all of them.
  std::uint64_t count_below(std::size_t power) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= std::min(power, kPowerMax); ++i) count += counters_.sum(i);
    return count;
  }

 private:
  static constexpr std::size_t kSum = kPowerMax + 1;
  static constexpr std::size_t kCallsLeft = kPowerMax + 2;
  static constexpr std::size_t kLastSample = kPowerMax + 3;
  using Counters = ThreadCounters<kPowerMax + 4>;

  static void add(Counters::Shard& shard, std::uint64_t nanoseconds) {
    const auto power = static_cast<std::size_t>(std::bit_width(nanoseconds));
    shard.add(std::min(power, kPowerMax), 1);
    shard.add(kSum, nanoseconds);
  }

  Counters counters_;
};

}  // namespace moraine
