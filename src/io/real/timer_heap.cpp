#include "io/real/timer_heap.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"

namespace moraine {

TimerId TimerHeap::add(Instant when, Callback callback) {
  INVARIANT(static_cast<bool>(callback), "a timer needs a callback");
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot].callback = std::move(callback);
  const std::uint32_t generation = slots_[slot].generation;
  heap_.push_back({when, next_order_++, slot, generation});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
  ++live_;
  return {(std::uint64_t{generation} << 32) | (slot + std::uint64_t{1})};
}

void TimerHeap::cancel(TimerId timer) {
  const std::uint64_t number = timer.value & 0xffffffffU;
  if (number == 0 || number > slots_.size()) return;
  const auto slot = static_cast<std::uint32_t>(number - 1);
  if (slots_[slot].generation != timer.value >> 32 || !slots_[slot].callback) return;
  const Callback dropped = free_slot(slot);
  if (heap_.size() - live_ > live_ + kStaleMin) {
    std::erase_if(heap_, [this](const Entry& entry) { return stale(entry); });
    std::make_heap(heap_.begin(), heap_.end(), Later{});
  }
}

Instant TimerHeap::next() {
  drop_stale_top();
  return heap_.empty() ? Instant::never() : heap_.front().when;
}

Callback TimerHeap::take_due(Instant now, std::uint64_t before) {
  drop_stale_top();
  if (heap_.empty() || heap_.front().when > now || heap_.front().order >= before) return nullptr;
  const std::uint32_t slot = heap_.front().slot;
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  heap_.pop_back();
  return free_slot(slot);
}

void TimerHeap::drop_stale_top() {
  while (!heap_.empty() && stale(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }
}

// The callback is returned, not destroyed here: its destructor may use this heap.
Callback TimerHeap::free_slot(std::uint32_t slot) {
  Callback callback = std::move(slots_[slot].callback);
  slots_[slot].callback = nullptr;
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
  --live_;
  return callback;
}

}  // namespace moraine
