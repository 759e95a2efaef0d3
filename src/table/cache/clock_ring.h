// ClockRing: who goes next. Items in a ring with a hand that spares once those that were used.
//
// Promise    A new item takes the place that the hand left last, so that it has a whole turn to be
//            used.
//            Where there are several rings they are asked in turn, so that a small one does not
//            give up what is used all the time.
// Threading  Its owner's lock. T has `std::atomic<bool> used`, set by anyone, and `place`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace moraine::table {

// How often each ring is asked before used items go.
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
  // Takes the place of one that is in it.
  void replace(const T& old, T& item) {
    item.place = old.place;
    items_[item.place] = &item;
  }
  // The one that goes, after one turn of the hand at most. Null: there is none, or all were used;
  // `any` takes one all the same.
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
