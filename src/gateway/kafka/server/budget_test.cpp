#include "gateway/kafka/server/budget.h"

#include <gtest/gtest.h>

#include <string>

#include "io/sim/sim_executor.h"
#include "io/sync.h"
#include "io/task.h"

namespace moraine::kafka {
namespace {

// Takes each step in turn, then holds all for a second.
Task<void> take(SimExecutor& executor, ByteBudget& budget, std::vector<std::size_t> steps,
                std::string name, std::string& order) {
  ByteBudget::Lease lease;
  for (const std::size_t bytes : steps) {
    co_await budget.grow(lease, bytes);
    co_await sleep_for(executor, 10ms);
  }
  order += name;
  co_await sleep_for(executor, 1s);
}

TEST(ByteBudget, WaitersAreServedInOrder) {
  SimExecutor executor;
  ByteBudget budget(executor, 100);
  std::string order;
  spawn(take(executor, budget, {60}, "a", order));
  spawn(take(executor, budget, {60}, "b", order));
  spawn(take(executor, budget, {10}, "c", order));
  executor.run_for(100ms);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(budget.waiting(), 2u);
  executor.run_until_idle();
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudget, HoldersOfPartsAllFinishAlthoughTogetherTheyNeedTooMuch) {
  SimExecutor executor;
  ByteBudget budget(executor, 100);
  std::string order;
  for (const char* name : {"a", "b", "c"}) {
    spawn(take(executor, budget, {30, 60, 60}, name, order));
  }
  std::size_t most = 0;
  while (executor.step()) most = std::max(most, budget.used());
  EXPECT_EQ(order, "abc");
  EXPECT_LE(most, 100u + 150u);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudget, WhatALeaseDoesNotNeedGoesToWaiters) {
  SimExecutor executor;
  ByteBudget budget(executor, 100);
  std::string order;
  ByteBudget::Lease lease;
  ASSERT_TRUE(budget.grow_now(lease, 90));
  spawn(take(executor, budget, {60}, "a", order));
  EXPECT_EQ(budget.waiting_bytes(), 60u);
  lease.settle(40);
  EXPECT_EQ(budget.waiting_bytes(), 0u);
  EXPECT_EQ(budget.used(), 100u);
  executor.run_until_idle();
  EXPECT_EQ(order, "a");
  lease.settle(70);
  EXPECT_EQ(budget.used(), 70u);
  lease.release();
  EXPECT_EQ(budget.used(), 0u);
}

// As Fetch does: reserves what is expected, then what was found, or releases it and waits.
Task<void> read_more_than_expected(SimExecutor& executor, ByteBudget& budget, std::size_t found,
                                   std::size_t& done) {
  ByteBudget::Lease lease;
  co_await budget.grow(lease, 10);
  co_await sleep_for(executor, 1ms);
  if (!budget.grow_now(lease, found - 10)) co_await budget.grow(lease, found - 10);
  co_await sleep_for(executor, 20ms);
  ++done;
}

TEST(ByteBudget, ReadersWhoFindMoreThanExpectedStayWithinTheLimitAndOneOverdraft) {
  SimExecutor executor;
  ByteBudget budget(executor, 1'000);
  std::size_t done = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    spawn(read_more_than_expected(executor, budget, 50 + i % 100, done));
  }
  std::size_t most = 0;
  while (executor.step()) most = std::max(most, budget.used());
  EXPECT_EQ(done, 200u);
  EXPECT_LE(most, 1'000u + 150u);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(ByteBudget, MoreThanTheLimitWaitsForAllOfIt) {
  SimExecutor executor;
  ByteBudget budget(executor, 100);
  std::string order;
  ByteBudget::Lease forced = budget.force(1);
  spawn(take(executor, budget, {500}, "a", order));
  executor.run_for(1s);
  EXPECT_EQ(order, "");
  forced.release();
  executor.run_until_idle();
  EXPECT_EQ(order, "a");
}

}  // namespace
}  // namespace moraine::kafka
