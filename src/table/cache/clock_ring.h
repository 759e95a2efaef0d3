// ClockRing: chooses the next item to evict (CLOCK). Items in a ring with a hand that skips once
// those that were used.
//
// Promise    A new item takes the place that the hand passed last, so that it has a whole turn to
//            be used. With several rings the caller goes through them in turn, so that a small one
//            does not evict items that are in constant use.
// Threading  Its owner's lock. T has `std::atomic<bool> used`, set by any thread, and `place`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace moraine::table {

// How often each ring is tried before used items are evicted.
inline constexpr std::size_t kClockRounds = 2;

template <class T>
class ClockRing {
 public:
  std::size_t size() const { return items_.size() - holes_.size(); }

  void enter(T& item) {
    if (holes_.empty()) {
      item.place = static_cast<std::uint32_t>(items_.size());
      items_.push_back(&item);
      return;
    }
    item.place = holes_.back();
    holes_.pop_back();
    items_[item.place] = &item;
  }
  void leave(const T& item) {
    items_[item.place] = nullptr;
    holes_.push_back(item.place);
  }
  // Puts `item` into the place of `old`.
  void replace(const T& old, T& item) {
    item.place = old.place;
    items_[item.place] = &item;
  }
  // The item to evict, after at most one turn of the hand. Null: the ring is empty, or all items
  // were used; with `any` a used item is chosen.
  T* choose(bool any) {
    for (std::size_t steps = items_.size(); steps > 0; --steps, ++hand_) {
      if (hand_ >= items_.size()) hand_ = 0;
      T* item = items_[hand_];
      if (item == nullptr) continue;
      if (any || !item->used.load(std::memory_order_relaxed)) return item;
      item->used.store(false, std::memory_order_relaxed);
    }
    return nullptr;
  }

 private:
  std::vector<T*> items_;  // Null: a hole.
  std::vector<std::uint32_t> holes_;
  std::size_t hand_ = 0;
};

}  // namespace moraine::table
