// Lane: the real Executor, one thread with one event loop for callbacks, timers, sockets and disks.
//
// Promise    Callbacks posted by one thread run in the order of posting. The loop sleeps only when
//            it has nothing to do, in one system call that waits for all of its sources. stop()
//            runs what was posted before it and waits for the I/O in flight; timers not yet due are
//            dropped.
// Invariants The thread that first runs the lane (start() or run()) owns it from then on.
// Threading  post() from any thread; it does not touch the lane after the callback can have run.
//            now() and on_this_thread() from any thread. start() and stop() from a thread that does
//            not own the lane. All else from the owner, or from the constructing thread before the
//            lane is first run.
// Limits     kReadyPerTurn callbacks between two polls for I/O. The posting code bounds the queues.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/executor.h"
#include "io/real/timer_heap.h"
#include "io/real/uring.h"
#include "io/task.h"

namespace moraine {

enum class IoMode : std::uint8_t {
  kAuto,   // io_uring where the kernel allows it; MORAINE_IO=threads in the environment forbids it.
  kUring,  // io_uring; the program ends without it.
  kThreads,  // epoll and a pool of threads for disks.
};

struct LaneOptions {
  std::string name = "lane";  // Shown by ps and perf; at most 15 bytes of it.
  IoMode io = IoMode::kAuto;
  std::optional<unsigned> cpu;  // Pins the thread of start().
  bool background = false;      // Its thread yields its processor to other threads.
};

// Called when a watched file descriptor changes. Edge-triggered: use it until EAGAIN.
class FdHandler {
 public:
  struct Ready {
    bool readable = false;  // Also set at end of stream and on errors.
    bool writable = false;  // Also set on errors.
    bool ended = false;     // End of stream or an error: read until read() returns it.
  };
  virtual void on_ready(Ready ready) = 0;

 protected:
  ~FdHandler() = default;
};

struct WatchId {
  std::uint64_t value = 0;  // 0 is no watch.
};

class Lane final : public Executor {
 public:
  explicit Lane(LaneOptions options = {});
  ~Lane() override;  // Stops a started lane.
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Runs the loop on a thread of its own until stop(). A lane is started at most once.
  void start();
  void stop();
  // Runs the loop on the calling thread until `task` is done.
  template <class T>
  T run(Task<T> task);

  void post(Callback callback) override;
  Instant now() const override;
  TimerId schedule(Instant when, Callback callback) override;
  void cancel(TimerId timer) override;
  bool on_this_thread() const override {
    return owner_.load(std::memory_order_relaxed) == pthread_self();
  }

  // Processor time of its thread. Any thread, while the lane runs.
  Duration busy() const;

  // Both directions of `fd` are watched until unwatch(), which comes before close(fd).
  WatchId watch(int fd, FdHandler& handler);
  void unwatch(WatchId watch, int fd);

  // Null in IoMode::kThreads. Requires: the lane runs.
  Uring* uring();
  // I/O that stop() waits for.
  void begin_io() { ++io_in_flight_; }
  void end_io() { --io_in_flight_; }

 private:
  static constexpr std::size_t kReadyPerTurn = 256;
  static constexpr std::size_t kDrainTurnsMax = 100'000;

  struct Watch {
    FdHandler* handler = nullptr;
    std::uint32_t generation = 1;
  };
  // What a lane with a ring waits for besides disk I/O.
  struct RingWait : UringOperation {
    Lane* lane = nullptr;
  };

  template <class T>
  static Task<void> finish(Task<T> task, std::optional<T>& result, bool& done);
  static Task<void> finish_void(Task<void> task, bool& done);

  void own();
  void check_owner() const;
  void run_until(const bool& done);
  void drain();
  void run_callbacks();
  bool has_ready() const { return !ready_.empty() || !running_.empty(); }
  void take_inbox();
  void run_ready();
  void fire_timers();
  bool spin_for_posts();
  Duration time_to_sleep();
  void poll_io(Duration wait);
  void arm_epoll_poll();
  void arm_wake_read();
  void poll_epoll(Duration wait);
  void dispatch(std::uint64_t key, std::uint32_t events);

  const LaneOptions options_;
  std::atomic<pthread_t> owner_{};
  std::thread thread_;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  std::unique_ptr<Uring> uring_;
  RingWait epoll_poll_;  // The epoll descriptor.
  RingWait wake_read_;   // Of wake_fd_.
  std::uint64_t wakes_ = 0;
  bool ended_ = false;
  bool stopping_ = false;
  std::size_t io_in_flight_ = 0;

  std::vector<Callback> ready_;
  std::vector<Callback> running_;
  std::size_t running_next_ = 0;
  TimerHeap timers_;
  std::vector<Watch> watches_;
  std::vector<std::uint32_t> free_watches_;

  std::mutex inbox_mutex_;
  std::vector<Callback> inbox_;       // Guarded by inbox_mutex_.
  bool sleeping_ = false;             // Guarded by inbox_mutex_: the next post() wakes the loop.
  std::atomic<bool> inbox_filled_{};  // Lets a busy loop skip the mutex.
  bool had_posts_ = false;            // By other threads, since the last spin_for_posts().
  std::uint32_t spins_in_vain_ = 0;   // Grows with each in a row.
  std::uint32_t spins_to_leave_out_ = 0;
};

template <class T>
Task<void> Lane::finish(Task<T> task, std::optional<T>& result, bool& done) {
  result.emplace(co_await std::move(task));
  done = true;
}

template <class T>
T Lane::run(Task<T> task) {
  own();
  bool done = false;
  if constexpr (std::is_void_v<T>) {
    spawn(finish_void(std::move(task), done));
    run_until(done);
  } else {
    std::optional<T> result;
    spawn(finish(std::move(task), result, done));
    run_until(done);
    return std::move(*result);
  }
}

}  // namespace moraine
