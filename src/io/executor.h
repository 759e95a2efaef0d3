// Executor: one event loop. Everything a component does runs on one Executor, so its state needs no
// locks. The real one is a lane (a thread per core); the simulated one is the loop of the whole
// simulated world, on virtual time.
//
// Promise    Callbacks run one at a time, posted ones in the order of posting.
// Threading  post(), now() and on_this_thread() may be called from any thread; the rest only from
//            the executor's own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace moraine {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// Monotonic time of one world; the zero point means nothing.
struct Instant {
  Duration since_start{0};
  static constexpr Instant never() { return {Duration::max()}; }
  auto operator<=>(const Instant&) const = default;
  Instant operator+(Duration d) const {
    return since_start > Duration::max() - d ? never() : Instant{since_start + d};
  }
  Duration operator-(Instant other) const { return since_start - other.since_start; }
};

using Callback = std::move_only_function<void()>;

struct TimerId {
  std::uint64_t value = 0;  // 0 is no timer.
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Callback callback) = 0;
  virtual Instant now() const = 0;
  // Runs `callback` once at or after `when`. Cancelling a timer that has fired does nothing.
  virtual TimerId schedule(Instant when, Callback callback) = 0;
  virtual void cancel(TimerId timer) = 0;
  // True on the thread that runs this executor's callbacks.
  virtual bool on_this_thread() const = 0;

  // The executor whose callback runs on this thread; null on a thread that runs none.
  static Executor* current() { return current_; }

 protected:
  // Returns the one before.
  static Executor* set_current(Executor* executor) { return std::exchange(current_, executor); }

 private:
  static inline thread_local Executor* current_ = nullptr;
};

}  // namespace moraine
