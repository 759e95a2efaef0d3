#include "io/sim/sim_executor.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "io/sim/node_executor.h"
#include "io/sim/sim_faults.h"

namespace moraine {

SimExecutor::SimExecutor(std::uint64_t seed, Duration jitter_max)
    : trace_hash_(seed), random_(stream_seed(seed, "jitter")), jitter_max_(jitter_max) {}

SimExecutor::~SimExecutor() {
  clear();
}

void SimExecutor::post(Callback callback) {
  enqueue(fill_slot(nullptr, post_time(last_post_), std::move(callback)));
}

TimerId SimExecutor::schedule(Instant when, Callback callback) {
  const Instant due = std::max(when, now_) + jitter();
  return enqueue(fill_slot(nullptr, due.since_start, std::move(callback)));
}

void SimExecutor::cancel(TimerId timer) {
  const std::uint64_t slot = timer.value & ((std::uint64_t{1} << kSlotBits) - 1);
  const Entry entry{Duration{0}, timer.value >> kSlotBits, static_cast<std::uint32_t>(slot)};
  if (timer.value == 0 || slot >= slots_.size() || stale(entry)) return;
  const Callback dropped = take(entry);
  if (++stale_ > kStaleMin && stale_ > heap_.size() / 2) drop_stale();
}

bool SimExecutor::step() {
  if (!front_ready()) return false;
  const Entry entry = heap_.front();
  pop_front();
  run(entry);
  return true;
}

void SimExecutor::run_until(Instant when) {
  while (front_ready() && heap_.front().time <= when.since_start) step();
  now_ = std::max(now_, when);
}

bool SimExecutor::run_until_idle(Instant bound) {
  while (front_ready()) {
    if (heap_.front().time > bound.since_start) return false;
    step();
  }
  return true;
}

void SimExecutor::clear() {
  heap_.clear();
  // A dropped callback may own things whose destructors post or cancel.
  while (free_slots_.size() < slots_.size()) {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      const std::uint64_t order = slots_[slot].order;
      if (order != 0) const Callback dropped = take(Entry{Duration{0}, order, slot});
    }
  }
  heap_.clear();
  stale_ = 0;
}

SimExecutor::Entry SimExecutor::fill_slot(NodeExecutor* owner, Duration time, Callback callback) {
  if (free_slots_.empty()) {
    INVARIANT(slots_.size() < kEventsPendingMax,
              "{} events are pending: some loop adds events without end", slots_.size());
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  slot.callback = std::move(callback);
  slot.owner = owner;
  slot.order = next_order_++;
  return {time, slot.order, index};
}

TimerId SimExecutor::enqueue(Entry entry) {
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), Later{});
  return timer_id(entry);
}

Callback SimExecutor::take(const Entry& entry) {
  Slot& slot = slots_[entry.slot];
  Callback callback = std::move(slot.callback);
  slot.callback = nullptr;
  slot.owner = nullptr;
  slot.order = 0;
  free_slots_.push_back(entry.slot);
  return callback;
}

void SimExecutor::run(const Entry& entry) {
  NodeExecutor* const owner = slots_[entry.slot].owner;
  Callback callback = take(entry);
  if (entry.time > now_.since_start) {
    now_ = Instant{entry.time};
    events_this_instant_ = 0;
  }
  ++events_run_;
  INVARIANT(++events_this_instant_ <= kEventsPerInstantMax,
            "virtual time stands still at {} ns: some loop never sleeps", now_.since_start.count());
  trace(static_cast<std::uint64_t>(entry.time.count()));
  trace(owner ? owner->node() : 0);
  NodeExecutor* const before = std::exchange(running_, owner);
  Executor* const outer = set_current(owner != nullptr ? static_cast<Executor*>(owner) : this);
  callback();
  set_current(outer);
  running_ = before;
}

bool SimExecutor::front_ready() {
  while (!heap_.empty()) {
    const Entry front = heap_.front();
    if (stale(front)) {
      pop_front();
      if (stale_ > 0) --stale_;
      continue;
    }
    if (front.time == Duration::max()) return false;
    NodeExecutor* const owner = slots_[front.slot].owner;
    if (!owner || !owner->paused()) return true;
    pop_front();
    owner->set_aside(front);
  }
  return false;
}

void SimExecutor::pop_front() {
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  heap_.pop_back();
}

void SimExecutor::drop_stale() {
  std::erase_if(heap_, [this](const Entry& entry) { return stale(entry); });
  std::make_heap(heap_.begin(), heap_.end(), Later{});
  stale_ = 0;
}

Duration SimExecutor::jitter() {
  if (jitter_max_ == Duration{0}) return Duration{0};
  return Duration{random_.below(static_cast<std::uint64_t>(jitter_max_.count()) + 1)};
}

Duration SimExecutor::post_time(Duration& last_post) {
  last_post = std::max(last_post, now_.since_start + jitter());
  return last_post;
}

}  // namespace moraine
