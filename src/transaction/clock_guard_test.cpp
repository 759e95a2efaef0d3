#include "transaction/clock_guard.h"

#include <gtest/gtest.h>

#include "io/sim/sim_world.h"

namespace moraine {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class SetClock final : public WallClock {
 public:
  std::chrono::milliseconds now{1'700'000'000'000};
  std::chrono::milliseconds since_epoch() const override { return now; }
};

class ClockGuardTest : public testing::Test {
 protected:
  Timestamp timestamp() const {
    return timestamp_of_seconds(static_cast<std::uint64_t>(clock_.now.count()) / 1'000);
  }
  // Advances all clocks.
  void pass(Duration duration) {
    sim_.run_for(duration);
    clock_.now += std::chrono::floor<std::chrono::milliseconds>(duration);
  }

  SimWorld sim_{1};
  SetClock clock_;
  ClockGuard guard_{clock_, sim_.executor(), {}};
};

TEST_F(ClockGuardTest, SaysNothingBeforeItIsKnownWhatIsDurable) {
  EXPECT_EQ(guard_.since_epoch().count(), 0);
  ASSERT_TRUE(guard_.check(0));
  EXPECT_EQ(guard_.since_epoch(), clock_.now);
}

TEST_F(ClockGuardTest, FollowsAClockThatRunsAndOneThatGoesBack) {
  ASSERT_TRUE(guard_.check(timestamp()));
  pass(hours(100));
  EXPECT_TRUE(guard_.check(timestamp()));
  clock_.now -= hours(500);
  EXPECT_TRUE(guard_.check(timestamp_of_seconds(1'700'000'000)));
  EXPECT_EQ(guard_.since_epoch(), clock_.now);
}

TEST_F(ClockGuardTest, AnIdleNodeIsNoJump) {
  ASSERT_TRUE(guard_.check(timestamp()));
  const Timestamp old = timestamp();
  pass(hours(24 * 90));
  EXPECT_TRUE(guard_.check(old));
}

TEST_F(ClockGuardTest, AJumpIsRefusedAndTimeGoesOnWithoutIt) {
  ASSERT_TRUE(guard_.check(timestamp()));
  const auto before = clock_.now;
  clock_.now += kClockJumpMax + seconds(1);
  const auto refused = guard_.check(timestamp_of_seconds(1'700'000'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_NE(refused.error().context.find("1 days 0 hours ahead"), std::string::npos)
      << refused.error().context;
  EXPECT_TRUE(guard_.refusal());
  EXPECT_EQ(guard_.since_epoch(), before);
  pass(hours(2));
  EXPECT_EQ(guard_.since_epoch(), before + hours(2));
  clock_.now -= kClockJumpMax;
  EXPECT_TRUE(guard_.check(timestamp_of_seconds(1'700'000'000)));
  EXPECT_FALSE(guard_.refusal());
}

TEST_F(ClockGuardTest, AnOperatorConfirmsAJumpOnce) {
  ASSERT_TRUE(guard_.check(timestamp()));
  clock_.now += hours(24 * 365);
  ASSERT_FALSE(guard_.check(timestamp_of_seconds(1'700'000'000)));
  guard_.accept();
  EXPECT_TRUE(guard_.check(timestamp_of_seconds(1'700'000'000)));
  EXPECT_EQ(guard_.since_epoch(), clock_.now);
  clock_.now += hours(24 * 365);
  EXPECT_FALSE(guard_.check(timestamp_of_seconds(1'700'000'000)));
}

TEST_F(ClockGuardTest, ANodeMayHaveBeenOffForAWhile) {
  const Timestamp old = timestamp();
  clock_.now += kClockJumpAtStartMax;
  EXPECT_TRUE(guard_.check(old));
  clock_.now += seconds(1);
  ClockGuard later(clock_, sim_.executor(), {});
  EXPECT_FALSE(later.check(old));
  EXPECT_EQ(later.since_epoch(), seconds(1'700'000'000)) << "nothing expires meanwhile";
  clock_.now -= hours(24 * 20);
  EXPECT_TRUE(later.check(old)) << "set right, it is still the first start";
  clock_.now += hours(24 * 40);
  ClockGuard confirmed(clock_, sim_.executor(), {.accept = true});
  EXPECT_TRUE(confirmed.check(old));
}

}  // namespace
}  // namespace moraine
