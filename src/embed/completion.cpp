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

constexpr int kPausesPerLook = 32;
// A yield this long means that others need the processor; who sleeps is woken, who yields is not.
constexpr auto kLongYield = std::chrono::microseconds(300);
constexpr auto kRestAfterLongYield = std::chrono::milliseconds(50);

std::atomic<unsigned> watchers{0};
std::atomic<Clock::rep> rest_until{0};  // Nobody looks on before.

unsigned watchers_max() {
  static const unsigned most = std::max(1u, std::thread::hardware_concurrency() / 2);
  return most;
}

// A place among those who look on, while there is one.
class Place {
 public:
  Place() : taken_(watchers.fetch_add(1, std::memory_order_relaxed) < watchers_max()) {}
  ~Place() { watchers.fetch_sub(1, std::memory_order_relaxed); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  explicit operator bool() const { return taken_; }

 private:
  const bool taken_;
};

}  // namespace

void Completion::set() {
  // The waiting thread may be gone after the exchange. A wake at an address that nobody waits at,
  // or that somebody else uses by then, does no harm: waits on futexes look again.
  if (state_.exchange(kSet, std::memory_order_acq_rel) != kAsleep) return;
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool Completion::watch() const {
  const Place place;
  if (!place) return false;
  Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < rest_until.load(std::memory_order_relaxed)) return false;
  const Clock::time_point until = now + kWatchTime;
  while (now < until) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (state_.load(std::memory_order_acquire) == kSet) return true;
      _mm_pause();
    }
    // The kernel's own threads finish durable writes, perhaps on this processor.
    const Clock::time_point before = Clock::now();
    std::this_thread::yield();
    now = Clock::now();
    if (now - before >= kLongYield) {
      const Clock::time_point rest = now + kRestAfterLongYield;
      rest_until.store(rest.time_since_epoch().count(), std::memory_order_relaxed);
      return false;
    }
  }
  return false;
}

void Completion::wait() {
  if (watch()) return;
  std::uint32_t expected = kOpen;
  if (!state_.compare_exchange_strong(expected, kAsleep, std::memory_order_acq_rel)) return;
  while (state_.load(std::memory_order_acquire) != kSet) {
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAsleep, nullptr, nullptr, 0);
  }
}

namespace {

Task<void> run_and_tell(std::function<Task<void>()> body, Completion& done) {
  co_await body();
  done.set();
}

}  // namespace

void wait_for(Executor& executor, std::function<Task<void>()> body) {
  Completion done;
  executor.post([&] { spawn(run_and_tell(std::move(body), done)); });
  done.wait();
}

}  // namespace moraine::embed
