#include "table/tablet/write/append_turn.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/sim/sim_world.h"

namespace moraine::table {
namespace {

class AppendTurnTest : public testing::Test {
 protected:
  AppendTurnTest() : world_(3), turn_(world_.executor()) {}
  ~AppendTurnTest() override { world_.shutdown(); }

  // Takes the turn, notes it, and has it for a millisecond.
  Task<void> take(int number, Duration wait = 1h) {
    auto held = co_await turn_.take(world_.executor().now() + wait);
    if (!held) {
      errors_.push_back(held.error().code);
      co_return;
    }
    order_.push_back(number);
    EXPECT_EQ(holders_++, 0);
    co_await sleep_for(world_.executor(), 1ms);
    --holders_;
  }

  SimWorld world_;
  AppendTurn turn_;
  std::vector<int> order_;
  std::vector<Errc> errors_;
  int holders_ = 0;
};

TEST_F(AppendTurnTest, PassesInTheOrderOfRequests) {
  TaskScope scope;
  for (int i = 0; i < 5; ++i) scope.spawn(take(i));
  world_.run_for(10ms);
  EXPECT_EQ(order_, (std::vector{0, 1, 2, 3, 4}));
  scope.spawn(take(5));
  world_.run_for(10ms);
  EXPECT_EQ(order_.back(), 5);
}

TEST_F(AppendTurnTest, WhoWaitsTooLongIsAbortedAndDoesNotGetIt) {
  TaskScope scope;
  AppendTurn::Held held = turn_.restore();
  scope.spawn(take(1, 5ms));
  scope.spawn(take(2));
  world_.run_for(20ms);
  EXPECT_EQ(errors_, std::vector{Errc::kAborted});
  held.release();
  world_.run_for(20ms);
  EXPECT_EQ(order_, std::vector{2});
}

TEST_F(AppendTurnTest, ClosingEndsAllWaits) {
  TaskScope scope;
  const AppendTurn::Held held = turn_.restore();
  scope.spawn(take(1));
  scope.spawn(take(2));
  world_.run_for(1ms);
  turn_.close();
  world_.run_for(1ms);
  scope.spawn(take(3));
  world_.run_for(1ms);
  EXPECT_EQ(errors_, (std::vector(3, Errc::kUnavailable)));
  EXPECT_TRUE(order_.empty());
}

TEST_F(AppendTurnTest, FewWait) {
  TaskScope scope;
  const AppendTurn::Held held = turn_.restore();
  for (std::size_t i = 0; i <= kAppendsWaitingMax; ++i) scope.spawn(take(1));
  world_.run_for(1ms);
  EXPECT_EQ(errors_, std::vector{Errc::kOverloaded});
  turn_.close();
  world_.run_for(1ms);
}

}  // namespace
}  // namespace moraine::table
