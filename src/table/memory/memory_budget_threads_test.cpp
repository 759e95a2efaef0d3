// Shares of one budget on several threads.

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "io/random.h"
#include "table/memory/memory_budget.h"

namespace moraine::table {
namespace {

constexpr std::size_t kThreads = 4;
constexpr int kRounds = 20'000;
constexpr std::uint64_t kLimit = std::uint64_t{1} << 20;

// Callbacks run when the thread that owns it asks for it.
class TestLane final : public Executor {
 public:
  void post(Callback callback) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(callback));
  }
  void run() {
    for (;;) {
      Callback next;
      {
        const std::lock_guard lock(mutex_);
        if (posted_.empty()) return;
        next = std::move(posted_.front());
        posted_.pop_front();
      }
      next();
    }
  }
  Instant now() const override { return {}; }
  TimerId schedule(Instant, Callback) override { return {}; }
  void cancel(TimerId) override {}
  bool on_this_thread() const override { return true; }

 private:
  std::mutex mutex_;
  std::deque<Callback> posted_;
};

// Grows until it is asked or the budget is full; ends and begins again now and then.
void use_shares(MemoryBudget& budget, TestLane& lane, std::uint64_t seed) {
  SeededRandom random(seed);
  std::uint64_t bytes = 0;
  std::unique_ptr<MemoryBudget::Share> share;
  const auto begin = [&] {
    bytes = 0;
    share = std::make_unique<MemoryBudget::Share>(&budget, lane, [&] {
      bytes = 0;
      share->set({});
      share->answer();
    });
  };
  begin();
  for (int i = 0; i < kRounds; ++i) {
    if (!share->full()) bytes += random.below(3 * kShareStepBytes);
    share->set({bytes, bytes, bytes});
    lane.run();
    if (random.below(100) == 0) begin();
  }
  share.reset();
  lane.run();
}

TEST(MemoryBudgetThreads, TheSumStaysRightAndWithinTheLimit) {
  MemoryBudget budget(kLimit / 2, kLimit);
  std::vector<std::unique_ptr<TestLane>> lanes;
  for (std::size_t i = 0; i < kThreads; ++i) lanes.push_back(std::make_unique<TestLane>());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { use_shares(budget, *lanes[i], i + 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.bytes(), 0u);
  EXPECT_GT(budget.asked(), 0u);
}

}  // namespace
}  // namespace moraine::table
