#include "io/sim/node_executor.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"

namespace moraine {

void NodeExecutor::post(Callback callback) {
  if (alive_) {
    loop_.enqueue(loop_.fill_slot(this, loop_.post_time(last_post_), std::move(callback)));
    return;
  }
  ++late_posts_;
  enqueue_private(private_now_.since_start, std::move(callback));
}

bool NodeExecutor::on_this_thread() const {
  const NodeExecutor* const running = loop_.running();
  return running == nullptr || running == this || running->node_ != node_;
}

void NodeExecutor::check_lane() const {
  INVARIANT(on_this_thread(), "lane {} of node {} is used by another lane", lane_, node_);
}

void NodeExecutor::cancel(TimerId timer) {
  if (timer.value != 0) check_lane();
  loop_.cancel(timer);
}

TimerId NodeExecutor::schedule(Instant when, Callback callback) {
  check_lane();
  if (alive_) {
    const Instant due = std::max(when, loop_.now()) + loop_.jitter();
    return loop_.enqueue(loop_.fill_slot(this, due.since_start, std::move(callback)));
  }
  ++late_timers_;
  return enqueue_private(std::max(when, private_now_).since_start, std::move(callback));
}

void NodeExecutor::resume() {
  if (!std::exchange(paused_, false)) return;
  for (const Entry& entry : set_aside_) {
    if (!loop_.stale(entry)) loop_.enqueue(entry);
  }
  set_aside_.clear();
}

void NodeExecutor::kill() {
  INVARIANT(alive_, "node {} died twice in one life", node_);
  alive_ = false;
  paused_ = false;
  private_now_ = loop_.now();
  private_queue_ = std::exchange(set_aside_, {});
  std::erase_if(private_queue_, [this](const Entry& entry) { return loop_.stale(entry); });
  loop_.drop_stale();
  std::erase_if(loop_.heap_, [this](const Entry& entry) {
    if (loop_.slots_[entry.slot].owner != this) return false;
    private_queue_.push_back(entry);
    return true;
  });
  std::make_heap(loop_.heap_.begin(), loop_.heap_.end(), SimExecutor::Later{});
  std::make_heap(private_queue_.begin(), private_queue_.end(), SimExecutor::Later{});
}

TimerId NodeExecutor::enqueue_private(Duration time, Callback callback) {
  const Entry entry = loop_.fill_slot(this, time, std::move(callback));
  private_queue_.push_back(entry);
  std::push_heap(private_queue_.begin(), private_queue_.end(), SimExecutor::Later{});
  if (!draining_ && !std::exchange(drain_posted_, true)) {
    loop_.post([this] {
      drain_posted_ = false;
      drain();
    });
  }
  return loop_.timer_id(entry);
}

void NodeExecutor::drain(std::uint64_t events_max) {
  INVARIANT(!alive_, "node {} is alive: only dead nodes are drained", node_);
  if (std::exchange(draining_, true)) return;
  for (; !private_queue_.empty() && events_max > 0; --events_max) {
    const Entry entry = private_queue_.front();
    std::pop_heap(private_queue_.begin(), private_queue_.end(), SimExecutor::Later{});
    private_queue_.pop_back();
    if (!loop_.stale(entry)) run_private(entry);
  }
  draining_ = false;
}

void NodeExecutor::run_private(const Entry& entry) {
  INVARIANT(++drained_ <= kDrainedEventsMax,
            "node {} does not become idle after its death: {} events drained, of them {} posts and "
            "{} timers added since; {} disk and {} network calls refused. A loop ignores both "
            "errors and TaskScope::closed()",
            node_, drained_, late_posts_, late_timers_, refused_disk_, refused_network_);
  private_now_ = std::max(private_now_, Instant{entry.time});
  Callback callback = loop_.take(entry);
  loop_.trace(static_cast<std::uint64_t>(entry.time.count()));
  NodeExecutor* const before = std::exchange(loop_.running_, this);
  Executor* const outer = set_current(this);
  callback();
  set_current(outer);
  loop_.running_ = before;
}

}  // namespace moraine
