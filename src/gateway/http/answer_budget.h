// AnswerBudget: the memory that the HTTP answers of a node may have, from before they are made
// until clients have taken them.
//
// Promise    try_set() refuses what would exceed the bound; what is there already is counted in any
//            case (set()), so the bound is exceeded by as much as answers are longer than the room
//            that was taken for them. While nothing is taken, any one answer has room.
// Threading  The budget: any thread. A room: that of its connection.
// Tests      http_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>

namespace moraine::http {

class AnswerBudget {
 public:
  explicit AnswerBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  AnswerBudget(const AnswerBudget&) = delete;
  AnswerBudget& operator=(const AnswerBudget&) = delete;

  std::size_t bytes() const { return taken_.load(std::memory_order_relaxed); }

 private:
  friend class AnswerRoom;

  bool try_take(std::size_t more) {
    std::size_t taken = bytes();
    do {
      const bool fits = taken <= bytes_max_ && more <= bytes_max_ - taken;
      if (taken > 0 && !fits) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + more, std::memory_order_relaxed));
    return true;
  }
  void take(std::size_t more) { taken_.fetch_add(more, std::memory_order_relaxed); }
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::size_t bytes_max_;
  std::atomic<std::size_t> taken_{0};
};

// What one answer takes; given back at the end.
class AnswerRoom {
 public:
  // `budget` outlives it.
  explicit AnswerRoom(AnswerBudget& budget) : budget_(budget) {}
  AnswerRoom(const AnswerRoom&) = delete;
  AnswerRoom& operator=(const AnswerRoom&) = delete;
  ~AnswerRoom() { set(0); }

  std::size_t bytes() const { return bytes_; }
  // False: more is not there; nothing is changed.
  bool try_set(std::size_t bytes) {
    if (bytes > bytes_ && !budget_.try_take(bytes - bytes_)) return false;
    if (bytes < bytes_) budget_.give_back(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  void set(std::size_t bytes) {
    if (bytes > bytes_) budget_.take(bytes - bytes_);
    if (bytes < bytes_) budget_.give_back(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  AnswerBudget& budget_;
  std::size_t bytes_ = 0;
};

}  // namespace moraine::http
