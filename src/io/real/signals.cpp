#include "io/real/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/invariant.h"
#include "io/sync.h"

namespace moraine {
namespace {

// The pipe that the handler writes to; -1 without a watch. Lock-free, so the handler may read it.
std::atomic<int> signal_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

// Dropped when the pipe is full: it holds thousands of unread signals then.
void pass_on(int signal) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] const ssize_t written = write(signal_pipe.load(), &byte, 1);
  errno = saved;
}

}  // namespace

SignalWatch::SignalWatch(Lane& lane, const std::vector<int>& signals, Handler handler)
    : lane_(lane), handler_(std::make_shared<Handler>(std::move(handler))) {
  int ends[2];
  INVARIANT(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0, "pipe2: {}", std::strerror(errno));
  read_fd_ = ends[0];
  write_fd_ = ends[1];
  int no_watch = -1;
  INVARIANT(signal_pipe.compare_exchange_strong(no_watch, write_fd_),
            "signals are watched already");
  watch_ = lane_.watch(read_fd_, *this);
  for (const int signal : signals) {
    struct sigaction action{};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    struct sigaction previous{};
    INVARIANT(sigaction(signal, &action, &previous) == 0, "signal {}: {}", signal,
              std::strerror(errno));
    previous_.emplace_back(signal, previous);
  }
}

SignalWatch::~SignalWatch() {
  for (const auto& [signal, previous] : previous_) sigaction(signal, &previous, nullptr);
  lane_.unwatch(watch_, read_fd_);
  signal_pipe.store(-1);
  close(write_fd_);
  close(read_fd_);
}

void SignalWatch::on_ready(Ready ready) {
  if (!ready.readable) return;
  unsigned char byte = 0;
  int last = 0;
  while (read(read_fd_, &byte, 1) == 1) {
    if (byte == last) continue;
    last = byte;
    lane_.post([weak = std::weak_ptr(handler_), signal = last] {
      if (const auto handler = weak.lock()) (*handler)(signal);
    });
  }
}

Task<int> wait_for_signal(Lane& lane, std::vector<int> signals) {
  OneShot<int> came;
  const SignalWatch watch(lane, signals, [&came](int signal) { came.set(signal); });
  co_return co_await came;
}

}  // namespace moraine
