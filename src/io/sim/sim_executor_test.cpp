#include "io/sim/sim_executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "io/sim/node_executor.h"

namespace moraine {
namespace {

using Order = std::vector<int>;

TEST(SimExecutor, RunsEventsByTimeAndThenInOrderOfAdding) {
  SimExecutor loop;
  Order order;
  loop.schedule({3ms}, [&] { order.push_back(3); });
  loop.schedule({1ms}, [&] { order.push_back(1); });
  loop.schedule({1ms}, [&] { order.push_back(2); });
  loop.post([&] { order.push_back(0); });
  EXPECT_TRUE(loop.run_until_idle());
  EXPECT_EQ(order, (Order{0, 1, 2, 3}));
  EXPECT_EQ(loop.now(), Instant{3ms});
}

TEST(SimExecutor, RunUntilMovesTimeThereAndLeavesLaterEvents) {
  SimExecutor loop;
  Order order;
  loop.schedule({1ms}, [&] { order.push_back(1); });
  loop.schedule({5ms}, [&] { order.push_back(5); });
  loop.run_until({3ms});
  EXPECT_EQ(order, Order{1});
  EXPECT_EQ(loop.now(), Instant{3ms});
  loop.run_for(2ms);
  EXPECT_EQ(order, (Order{1, 5}));
}

TEST(SimExecutor, RunUntilIdleStopsAtItsBound) {
  SimExecutor loop;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    loop.schedule(loop.now() + 1s, [&] { again(); });
  };
  again();
  EXPECT_FALSE(loop.run_until_idle({10s}));
  EXPECT_EQ(runs, 11);
}

TEST(SimExecutor, TimersAtNeverNeverRun) {
  SimExecutor loop;
  loop.schedule(Instant::never(), [] { FAIL(); });
  EXPECT_TRUE(loop.run_until_idle());
  EXPECT_FALSE(loop.step());
}

TEST(SimExecutor, ACancelledTimerDoesNotRunAndItsSlotIsUsedAgain) {
  SimExecutor loop;
  Order order;
  const TimerId first = loop.schedule({1ms}, [&] { order.push_back(1); });
  loop.cancel(first);
  const TimerId second = loop.schedule({1ms}, [&] { order.push_back(2); });
  loop.cancel(first);  // Its slot is used by another timer now.
  loop.run_until_idle();
  EXPECT_EQ(order, Order{2});
  loop.cancel(second);
  loop.cancel(TimerId{});
}

TEST(SimExecutor, ManyCancelledTimersDoNotPileUp) {
  SimExecutor loop;
  for (int i = 0; i < 100'000; ++i) {
    loop.cancel(loop.schedule({1h}, [] { FAIL(); }));
  }
  EXPECT_LT(loop.pending(), 3000U);
  EXPECT_TRUE(loop.run_until_idle());
}

TEST(SimExecutor, DroppedCallbacksMayPostWhileTheyAreDropped) {
  SimExecutor loop;
  struct Poster {
    SimExecutor& loop;
    ~Poster() {
      loop.post([] { FAIL(); });
    }
  };
  loop.post([poster = std::make_unique<Poster>(loop)] { FAIL(); });
  loop.clear();
  EXPECT_FALSE(loop.step());
}

TEST(SimExecutor, JitterKeepsPostsInOrderAndVariesTheRestWithTheSeed) {
  std::vector<Order> orders;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SimExecutor loop(seed, 100ns);
    NodeExecutor a(loop, 1);
    NodeExecutor b(loop, 2);
    Order order;
    for (int i = 0; i < 10; ++i) {
      a.post([&order, i] { order.push_back(i); });
      b.post([&order, i] { order.push_back(100 + i); });
    }
    loop.run_until_idle();
    Order of_a = order;
    std::erase_if(of_a, [](int i) { return i >= 100; });
    EXPECT_TRUE(std::is_sorted(of_a.begin(), of_a.end()));
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(SimExecutor, TheTraceDependsOnWhatHappensAndNotOnAddresses) {
  const auto trace_of = [](Duration second) {
    SimExecutor loop(7);
    loop.schedule({1ms}, [] {});
    loop.schedule({second}, [] {});
    loop.run_until_idle();
    return loop.trace_hash();
  };
  EXPECT_EQ(trace_of(2ms), trace_of(2ms));
  EXPECT_NE(trace_of(2ms), trace_of(3ms));
}

TEST(NodeExecutor, APausedNodeRunsItsEventsAfterResumeInTheOrderTheyFellDue) {
  SimExecutor loop;
  NodeExecutor node(loop, 1);
  NodeExecutor other(loop, 2);
  Order order;
  node.schedule({2ms}, [&] { order.push_back(2); });
  node.schedule({1ms}, [&] { order.push_back(1); });
  const TimerId cancelled = node.schedule({1ms}, [&] { order.push_back(-1); });
  node.schedule({9ms}, [&] { order.push_back(9); });
  other.schedule({3ms}, [&] { order.push_back(30); });
  node.pause();
  loop.run_until({5ms});
  EXPECT_EQ(order, Order{30});
  node.cancel(cancelled);
  node.resume();
  node.post([&] { order.push_back(3); });
  loop.run_until({6ms});
  EXPECT_EQ(order, (Order{30, 1, 2, 3}));
  loop.run_until_idle();
  EXPECT_EQ(order.back(), 9);
  EXPECT_EQ(loop.now(), Instant{9ms});
}

TEST(NodeExecutor, ADeadNodeRunsWhatIsPendingInFastForwardOnItsOwnClock) {
  SimExecutor loop;
  NodeExecutor node(loop, 1);
  Order order;
  std::vector<Duration> times;
  node.schedule({2h}, [&] {
    order.push_back(2);
    times.push_back(node.now().since_start);
    node.schedule(node.now() + 1h, [&] {
      order.push_back(3);
      times.push_back(node.now().since_start);
    });
  });
  node.schedule({1h}, [&] { order.push_back(1); });
  loop.run_until({1s});
  node.kill();
  node.drain();
  EXPECT_EQ(order, (Order{1, 2, 3}));
  EXPECT_EQ(times, (std::vector<Duration>{2h, 3h}));
  EXPECT_EQ(loop.now(), Instant{1s});
  EXPECT_TRUE(loop.run_until_idle());
}

TEST(NodeExecutor, WhatIsPostedAfterTheDrainRunsAsAnEventOfTheScenario) {
  SimExecutor loop;
  NodeExecutor node(loop, 1);
  node.kill();
  node.drain();
  bool ran = false;
  node.schedule({1h}, [&] { ran = true; });
  EXPECT_FALSE(ran);
  loop.run_until_idle();
  EXPECT_TRUE(ran);
  EXPECT_EQ(loop.now(), Instant{});
}

TEST(NodeExecutor, EventsOfAPausedNodeAreDrainedWhenItDies) {
  SimExecutor loop;
  NodeExecutor node(loop, 1);
  Order order;
  node.schedule({1ms}, [&] { order.push_back(1); });
  node.pause();
  loop.run_until({5ms});
  node.kill();
  node.drain();
  EXPECT_EQ(order, Order{1});
}

TEST(NodeExecutorDeathTest, ALoopThatIgnoresDeathIsReported) {
  SimExecutor loop;
  NodeExecutor node(loop, 5);
  std::function<void()> again = [&] { node.schedule(node.now() + 1s, [&] { again(); }); };
  again();
  node.kill();
  EXPECT_DEATH(node.drain(), "node 5 does not become idle");
}

TEST(SimExecutorDeathTest, ALoopThatNeverSleepsIsReported) {
  SimExecutor loop;
  std::function<void()> again = [&] { loop.post([&] { again(); }); };
  again();
  EXPECT_DEATH(loop.run_until({1s}), "virtual time stands still");
}

}  // namespace
}  // namespace moraine
