#include "embed/completion.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "io/real/lane.h"

namespace moraine::embed {
namespace {

TEST(Completion, WaitReturnsAtOnceWhenItWasSetBefore) {
  Completion done;
  done.set();
  done.wait();
}

TEST(Completion, AThreadThatSleepsIsWoken) {
  Completion done;
  std::thread setter([&] {
    std::this_thread::sleep_for(10 * Completion::kSpinTime);
    done.set();
  });
  done.wait();
  setter.join();
}

// Each object is destroyed as soon as its wait() returns; a late set() would hit another one.
TEST(Completion, ManyThreadsHandStackObjectsToOneSetter) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 5'000;
  std::vector<std::atomic<Completion*>> posted(kThreads);
  std::vector<int> seen(kThreads, 0);
  std::atomic<int> alive{kThreads};
  std::thread setter([&] {
    while (alive.load() > 0) {
      for (auto& slot : posted) {
        if (Completion* waiting = slot.exchange(nullptr)) waiting->set();
      }
    }
  });
  std::vector<std::thread> waiters;
  for (int i = 0; i < kThreads; ++i) {
    waiters.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        Completion done;
        posted[i].store(&done);
        done.wait();
        ++seen[i];
      }
      --alive;
    });
  }
  for (std::thread& waiter : waiters) waiter.join();
  setter.join();
  for (const int rounds : seen) EXPECT_EQ(rounds, kRounds);
}

// Takes long to destroy.
class SlowCapture {
 public:
  explicit SlowCapture(std::atomic<bool>& destroyed) : destroyed_(destroyed) {}
  ~SlowCapture() {
    std::this_thread::sleep_for(100 * Completion::kSpinTime);
    destroyed_ = true;
  }

 private:
  std::atomic<bool>& destroyed_;
};

TEST(Completion, WhatABodyHasCapturedIsDestroyedWhenTheWaitReturns) {
  Lane lane;
  lane.start();
  std::atomic<bool> destroyed{false};
  auto capture = std::make_shared<SlowCapture>(destroyed);
  std::function<Task<void>()> body = [capture]() -> Task<void> { co_return; };
  capture.reset();
  wait_for(lane, std::move(body));
  EXPECT_TRUE(destroyed);
  lane.stop();
}

TEST(Completion, WhatWasWrittenBeforeSetIsSeenAfterWait) {
  for (int round = 0; round < 1'000; ++round) {
    Completion done;
    int answer = 0;
    std::thread setter([&] {
      answer = round;
      done.set();
    });
    done.wait();
    EXPECT_EQ(answer, round);
    setter.join();
  }
}

}  // namespace
}  // namespace moraine::embed
