#include "embed/completion.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace moraine::embed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPausesPerCheck = 32;
// A yield this long means that other threads need the processor: a sleeping thread gets woken, a
// yielding one does not.
constexpr auto kLongYield = std::chrono::microseconds(300);
constexpr auto kNoSpinAfterLongYield = std::chrono::milliseconds(50);

std::atomic<unsigned> spinners{0};
std::atomic<Clock::rep> no_spin_before{0};  // No thread spins before this time.

unsigned spinners_max() {
  static const unsigned most = std::max(1u, std::thread::hardware_concurrency() / 2);
  return most;
}

// One of the limited number of slots for spinning threads, if one is free.
class SpinSlot {
 public:
  SpinSlot() : taken_(spinners.fetch_add(1, std::memory_order_relaxed) < spinners_max()) {}
  ~SpinSlot() { spinners.fetch_sub(1, std::memory_order_relaxed); }
  SpinSlot(const SpinSlot&) = delete;
  SpinSlot& operator=(const SpinSlot&) = delete;
  explicit operator bool() const { return taken_; }

 private:
  const bool taken_;
};

}  // namespace

void Completion::set() {
  // The waiting thread may have destroyed this after the exchange. A wake at an address where no
  // thread waits, or that was reused, is harmless: waits on futexes check their condition again.
  if (state_.exchange(kSet, std::memory_order_acq_rel) != kAsleep) return;
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool Completion::spin() const {
  const SpinSlot slot;
  if (!slot) return false;
  Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < no_spin_before.load(std::memory_order_relaxed)) return false;
  const Clock::time_point until = now + kSpinTime;
  while (now < until) {
    for (int i = 0; i < kPausesPerCheck; ++i) {
      if (state_.load(std::memory_order_acquire) == kSet) return true;
      _mm_pause();
    }
    // The kernel's own threads may need this processor to finish durable writes.
    const Clock::time_point before = Clock::now();
    std::this_thread::yield();
    now = Clock::now();
    if (now - before >= kLongYield) {
      const Clock::time_point again = now + kNoSpinAfterLongYield;
      no_spin_before.store(again.time_since_epoch().count(), std::memory_order_relaxed);
      return false;
    }
  }
  return false;
}

void Completion::wait() {
  if (spin()) return;
  std::uint32_t expected = kOpen;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel)) return;
  while (state_.load(std::memory_order_acquire) != kSet) {
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAsleep, nullptr, nullptr, 0);
  }
}

namespace {

Task<void> run_and_set(std::function<Task<void>()> body, Completion& done) {
  co_await body();
  body = nullptr;
  done.set();
}

}  // namespace

void wait_for(Executor& executor, std::function<Task<void>()> body) {
  Completion done;
  executor.post([&] { spawn(run_and_set(std::move(body), done)); });
  done.wait();
}

}  // namespace moraine::embed
