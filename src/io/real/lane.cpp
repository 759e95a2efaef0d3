#include "io/real/lane.h"

#include <immintrin.h>
#include <liburing.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/invariant.h"
#include "io/real/thread_priority.h"

namespace moraine {
namespace {

constexpr std::uint64_t kWakeKey = 0;
constexpr int kEventsPerPoll = 64;
// After a post from another thread the next often follows at once: spinning costs less than a wake.
constexpr Duration kSpinForPosts = 20us;
constexpr int kPausesPerCheck = 16;
// After a spin without a post the next ones are skipped, twice as many each time: a lane whose
// posts come milliseconds apart would spend more on spinning than on its work.
constexpr std::uint32_t kSpinsLeftOutMax = 64;

bool threads_forced() {
  const char* value = std::getenv("MORAINE_IO");
  return value != nullptr && std::string_view(value) == "threads";
}

int checked(int fd, const char* what) {
  INVARIANT(fd >= 0, "{}: {}", what, std::strerror(errno));
  return fd;
}

}  // namespace

Lane::Lane(LaneOptions options) : options_(std::move(options)) {
  epoll_fd_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  wake_fd_ = checked(eventfd(0, EFD_CLOEXEC), "eventfd");
  // Edge-triggered, so the counter never has to be read. A lane with a ring reads it there instead.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeKey;
  checked(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event), "epoll_ctl");
}

Lane::~Lane() {
  stop();
  if (current() == this) set_current(nullptr);
  INVARIANT(io_in_flight_ == 0, "lane destroyed with {} operations in flight", io_in_flight_);
  uring_.reset();
  close(wake_fd_);
  close(epoll_fd_);
}

void Lane::start() {
  INVARIANT(!thread_.joinable() && owner_.load() == pthread_t{}, "a lane is started once");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
    if (options_.cpu) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(*options_.cpu, &set);
      pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    }
    if (options_.background) lower_thread_priority();
    own();
    run_until(stopping_);
    drain();
    owner_.store(pthread_t{});
  });
}

void Lane::stop() {
  if (!thread_.joinable()) return;
  INVARIANT(!on_this_thread(), "a lane cannot join itself");
  post([this] { stopping_ = true; });
  thread_.join();
  ended_ = true;
}

void Lane::drain() {
  for (std::size_t turns = 0; turns < kDrainTurnsMax; ++turns) {
    run_callbacks();
    if (!has_ready() && io_in_flight_ == 0) return;
    poll_io(has_ready() ? Duration::zero() : time_to_sleep());
  }
}

void Lane::post(Callback callback) {
  if (on_this_thread()) {
    ready_.push_back(std::move(callback));
    return;
  }
  // The wake is written inside the lock: the loop cannot take the callback, run it and end before
  // this thread is done with the lane.
  const std::lock_guard lock(inbox_mutex_);
  inbox_.push_back(std::move(callback));
  inbox_filled_.store(true, std::memory_order_relaxed);
  if (!std::exchange(sleeping_, false)) return;
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_fd_, &one, sizeof(one));
  INVARIANT(written == sizeof(one), "eventfd: {}", std::strerror(errno));
}

Instant Lane::now() const {
  return {
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

Duration Lane::busy() const {
  const pthread_t owner = owner_.load(std::memory_order_relaxed);
  clockid_t clock{};
  timespec used{};
  if (owner == pthread_t{} || pthread_getcpuclockid(owner, &clock) != 0) return Duration::zero();
  if (clock_gettime(clock, &used) != 0) return Duration::zero();
  return std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
}

TimerId Lane::schedule(Instant when, Callback callback) {
  check_owner();
  return timers_.add(when, std::move(callback));
}

void Lane::cancel(TimerId timer) {
  check_owner();
  timers_.cancel(timer);
}

Uring* Lane::uring() {
  INVARIANT(on_this_thread(), "the ring of lane {} is used by its owner", options_.name);
  return uring_.get();
}

void Lane::own() {
  INVARIANT(!ended_, "lane {} has ended", options_.name);
  set_current(this);
  if (on_this_thread()) return;
  INVARIANT(owner_.load() == pthread_t{}, "lane {} belongs to another thread", options_.name);
  owner_.store(pthread_self());
  if (options_.io == IoMode::kThreads || (options_.io == IoMode::kAuto && threads_forced())) return;
  auto ring = Uring::create();
  INVARIANT(ring.has_value() || options_.io != IoMode::kUring, "{}", ring.error().message());
  if (!ring) return;
  uring_ = std::move(*ring);
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, wake_fd_, nullptr);
  wake_read_.lane = this;
  wake_read_.complete = [](UringOperation& self, int) {
    static_cast<RingWait&>(self).lane->arm_wake_read();
  };
  arm_wake_read();
  epoll_poll_.lane = this;
  epoll_poll_.complete = [](UringOperation& self, int) {
    Lane& lane = *static_cast<RingWait&>(self).lane;
    lane.poll_epoll(Duration::zero());
    lane.arm_epoll_poll();
  };
  arm_epoll_poll();
}

void Lane::check_owner() const {
  INVARIANT(on_this_thread() || ended_ || owner_.load(std::memory_order_relaxed) == pthread_t{},
            "lane {} is used from a thread that does not own it", options_.name);
}

void Lane::run_until(const bool& done) {
  while (!done) {
    run_callbacks();
    poll_io(done || has_ready() ? Duration::zero() : time_to_sleep());
  }
}

Task<void> Lane::finish_void(Task<void> task, bool& done) {
  co_await std::move(task);
  done = true;
}

void Lane::run_callbacks() {
  take_inbox();
  run_ready();
  fire_timers();
}

void Lane::take_inbox() {
  if (!inbox_filled_.load(std::memory_order_relaxed)) return;
  std::vector<Callback> taken;
  {
    const std::lock_guard lock(inbox_mutex_);
    taken.swap(inbox_);
    inbox_filled_.store(false, std::memory_order_relaxed);
  }
  for (Callback& callback : taken) ready_.push_back(std::move(callback));
  had_posts_ = true;
}

// Runs at most kReadyPerTurn callbacks; callbacks that these post run after the earlier ones.
void Lane::run_ready() {
  for (std::size_t budget = kReadyPerTurn; budget > 0; --budget) {
    if (running_next_ == running_.size()) {
      running_.clear();
      running_next_ = 0;
      if (ready_.empty()) return;
      running_.swap(ready_);
    }
    Callback callback = std::move(running_[running_next_++]);
    callback();
  }
  if (running_next_ == running_.size()) {
    running_.clear();
    running_next_ = 0;
  }
}

void Lane::fire_timers() {
  if (timers_.size() == 0) return;
  const Instant at = now();
  const std::uint64_t before = timers_.mark();
  while (Callback callback = timers_.take_due(at, before)) callback();
}

// Not while disk I/O is in flight: the kernel completes durable writes on threads that need a
// processor. When it is done, the thread that waited for it often posts again at once.
bool Lane::spin_for_posts() {
  if (io_in_flight_ > 0 || !std::exchange(had_posts_, false)) return false;
  if (spins_to_leave_out_ > 0) {
    --spins_to_leave_out_;
    return false;
  }
  const Instant until = now() + kSpinForPosts;
  do {
    for (int i = 0; i < kPausesPerCheck; ++i) {
      if (inbox_filled_.load(std::memory_order_relaxed)) {
        spins_in_vain_ = 0;
        return true;
      }
      _mm_pause();
    }
  } while (now() < until);
  spins_in_vain_ = std::min(2 * spins_in_vain_ + 1, kSpinsLeftOutMax);
  spins_to_leave_out_ = spins_in_vain_;
  return false;
}

// Zero when there is work; otherwise the loop is marked as sleeping until the next post().
Duration Lane::time_to_sleep() {
  if (spin_for_posts()) return Duration::zero();
  Duration wait = Duration::max();
  if (timers_.size() > 0) {
    wait = timers_.next() - now();
    if (wait <= Duration::zero()) return Duration::zero();
  }
  const std::lock_guard lock(inbox_mutex_);
  if (!inbox_.empty()) return Duration::zero();
  sleeping_ = true;
  return wait;
}

void Lane::poll_io(Duration wait) {
  if (uring_) {
    uring_->turn(wait);
  } else {
    poll_epoll(wait);
  }
  if (wait > Duration::zero()) {
    const std::lock_guard lock(inbox_mutex_);
    sleeping_ = false;
  }
}

// Completes with the next post() that finds the lane asleep.
void Lane::arm_wake_read() {
  io_uring_sqe* entry = uring_->next_entry();
  io_uring_prep_read(entry, wake_fd_, &wakes_, sizeof(wakes_), 0);
  uring_->commit(entry, wake_read_);
}

// One shot at a time: arming checks the state of the descriptor, so no edge is ever lost.
void Lane::arm_epoll_poll() {
  io_uring_sqe* entry = uring_->next_entry();
  io_uring_prep_poll_add(entry, epoll_fd_, POLLIN);
  uring_->commit(entry, epoll_poll_);
}

void Lane::poll_epoll(Duration wait) {
  std::array<epoll_event, kEventsPerPoll> events;
  timespec limit{};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  limit.tv_sec = seconds.count();
  limit.tv_nsec = (wait - seconds).count();
  int count = epoll_pwait2(epoll_fd_, events.data(), kEventsPerPoll,
                           wait == Duration::max() ? nullptr : &limit, nullptr);
  if (count < 0 && errno == ENOSYS) {
    constexpr Duration kLongest = 1h;
    const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(std::min(wait, kLongest));
    count = epoll_wait(epoll_fd_, events.data(), kEventsPerPoll, static_cast<int>(rounded.count()));
  }
  INVARIANT(count >= 0 || errno == EINTR, "epoll_wait: {}", std::strerror(errno));
  for (int i = 0; i < count; ++i) dispatch(events[i].data.u64, events[i].events);
}

// The key carries the watch's generation: an event of a descriptor that was unwatched earlier in
// the same batch is ignored.
void Lane::dispatch(std::uint64_t key, std::uint32_t events) {
  if (key == kWakeKey) return;
  const Watch& watch = watches_[(key & 0xffffffffU) - 1];
  if (watch.generation != key >> 32) return;
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  const bool ended = broken || (events & EPOLLRDHUP) != 0;
  watch.handler->on_ready({.readable = ended || (events & EPOLLIN) != 0,
                           .writable = broken || (events & EPOLLOUT) != 0,
                           .ended = ended});
}

WatchId Lane::watch(int fd, FdHandler& handler) {
  check_owner();
  if (free_watches_.empty()) {
    free_watches_.push_back(static_cast<std::uint32_t>(watches_.size()));
    watches_.emplace_back();
  }
  const std::uint32_t slot = free_watches_.back();
  free_watches_.pop_back();
  watches_[slot].handler = &handler;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = (std::uint64_t{watches_[slot].generation} << 32) | (slot + std::uint64_t{1});
  checked(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  return {event.data.u64};
}

void Lane::unwatch(WatchId watch, int fd) {
  check_owner();
  const auto slot = static_cast<std::uint32_t>((watch.value & 0xffffffffU) - 1);
  INVARIANT(slot < watches_.size() && watches_[slot].generation == watch.value >> 32,
            "descriptor {} is not watched", fd);
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  watches_[slot].handler = nullptr;
  ++watches_[slot].generation;
  free_watches_.push_back(slot);
}

}  // namespace moraine
