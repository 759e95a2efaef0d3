// MemoryBudget: memory of one kind that the tablets of a node share, on all lanes.
//
// Promise    Above mark() bytes the shares with the highest rank are asked to shrink, each on its
//            own executor, as many as it takes to get below the mark. A share that was asked is
//            asked again only after it has answered; one that is small compared with an equal part
//            of the budget is not asked. At bytes_max() full() is true: owners then refuse what
//            would add more.
// Invariants bytes() is the sum of all shares, each rounded up to kShareStepBytes.
// Threading  Any. A Share belongs to one executor: set(), answer() and decline() are called there,
//            and shrink is called there. It may be destroyed on any thread: shrink is not called
//            after that. The budget outlives its shares.
// Limits     set() adds to one atomic when the rounded figure changes. Shares are compared, under a
//            lock, only above the mark, and then once for each kPressureParts-th of the budget.
// Tests      memory_budget_test.cpp, memory_budget_threads_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "io/executor.h"

namespace moraine::table {

inline constexpr std::uint64_t kShareStepBytes = 4'096;
inline constexpr std::uint64_t kPressureParts = 64;
// A share below this part of an equal part of the budget is not asked: many small flushes cost more
// than they free. Since the mark is at half of the budget or above, larger ones exist there.
inline constexpr std::uint64_t kSmallShareParts = 4;

class MemoryBudget {
 public:
  // Requires: mark <= bytes_max.
  MemoryBudget(std::uint64_t mark, std::uint64_t bytes_max);
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  ~MemoryBudget();

  // What an owner has.
  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t freeable = 0;  // About what one shrink frees; 0: the share is not asked.
    std::uint64_t rank = 0;      // The highest are asked first.
  };

  class Share {
   public:
    // `shrink` begins to free memory; answer() or decline() follows, at once or later. Without a
    // budget a share has no limit.
    Share(MemoryBudget* budget, Executor& executor, std::function<void()> shrink);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

    void set(const Usage& usage);
    // Memory was freed, or can be freed again: the share may be asked.
    void answer();
    // Nothing can be freed until answer().
    void decline();
    bool full() const { return budget_ != nullptr && budget_->full(); }

   private:
    friend class MemoryBudget;
    struct State;
    MemoryBudget* const budget_;
    const std::shared_ptr<State> state_;
  };

  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t mark() const { return mark_; }
  std::uint64_t bytes_max() const { return bytes_max_; }
  bool full() const { return bytes() >= bytes_max_; }
  // Times that a share was asked.
  std::uint64_t asked() const { return asked_.load(std::memory_order_relaxed); }

 private:
  using StatePtr = std::shared_ptr<Share::State>;

  void ask();
  void ask_locked();
  std::vector<std::size_t> by_rank() const;
  static void call_shrink(Share::State& state);

  const std::uint64_t mark_;
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> ask_above_;  // Nothing is to be asked while bytes() is not above.
  std::atomic<std::uint64_t> asked_{0};
  std::mutex mutex_;
  std::vector<StatePtr> shares_;  // Guarded by mutex_.
};

}  // namespace moraine::table
