#include "transaction/timestamp_oracle.h"

#include <gtest/gtest.h>

#include "tablet/test_tablet.h"

namespace moraine {
namespace {

class SetClock final : public WallClock {
 public:
  std::chrono::milliseconds now{1'700'000'000'000};
  std::chrono::milliseconds since_epoch() const override { return now; }
};

class TimestampOracleTest : public testing::Test {
 protected:
  ~TimestampOracleTest() override { sim_.shutdown(); }

  World world() {
    World world = storage_.world();
    return {world.executor, clock_, world.random, world.disks, world.network};
  }
  std::unique_ptr<TimestampOracle> boot(OracleOptions options = {}) {
    auto booted = sim_.run(TimestampOracle::boot(
        world(), storage_, TabletInfo::simple(TabletId{7}, kTestGroup, 3), options));
    EXPECT_TRUE(booted) << booted.error().message();
    return std::move(*booted);
  }
  Timestamp next(TimestampOracle& oracle) {
    auto given = sim_.run(oracle.next());
    EXPECT_TRUE(given) << given.error().message();
    return given.value_or(0);
  }

  SimWorld sim_{1};
  SetClock clock_;
  TestStorage storage_{sim_};
};

TEST_F(TimestampOracleTest, SecondsAreThoseOfTheClock) {
  auto oracle = boot();
  EXPECT_EQ(unix_seconds(next(*oracle)), 1'700'000'000u);
  clock_.now += std::chrono::seconds(3);
  EXPECT_EQ(unix_seconds(next(*oracle)), 1'700'000'003u);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, EachIsAboveTheOneBefore) {
  auto oracle = boot();
  Timestamp last = 0;
  for (int i = 0; i < 1000; ++i) {
    const Timestamp given = next(*oracle);
    EXPECT_GT(given, last);
    last = given;
  }
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, AClockThatGoesBackDoesNotTakeTimestampsBack) {
  auto oracle = boot();
  const Timestamp before = next(*oracle);
  clock_.now -= std::chrono::hours(5);
  EXPECT_GT(next(*oracle), before);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, ARestartGivesHigherOnesThoughTheClockWentBack) {
  auto oracle = boot();
  const Timestamp before = next(*oracle);
  oracle->abandon();
  sim_.run_for(1ms);
  oracle.reset();
  storage_.crash();
  clock_.now -= std::chrono::hours(1);
  oracle = boot();
  EXPECT_GT(next(*oracle), before);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, AClockThatJumpsFarAheadIsNotMadeDurable) {
  auto oracle = boot();
  const Timestamp before = next(*oracle);
  clock_.now += std::chrono::hours(24 * 365);
  const auto refused = sim_.run(oracle->next());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_NE(refused.error().context.find("the wall clock says 2024-11-13"), std::string::npos)
      << refused.error().context;
  EXPECT_FALSE(oracle->try_next());
  clock_.now -= std::chrono::hours(24 * 365);
  const Timestamp after = next(*oracle);
  EXPECT_GT(after, before);
  EXPECT_EQ(unix_seconds(after), unix_seconds(before))
      << "after a correction timestamps continue as before";
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, AClockThatIsFarAheadAtAStartMustBeConfirmed) {
  auto oracle = boot();
  const Timestamp before = next(*oracle);
  sim_.run(oracle->stop());
  clock_.now += std::chrono::hours(24 * 365);
  oracle = boot();
  EXPECT_EQ(sim_.run(oracle->next()).error().code, Errc::kUnavailable);
  sim_.run(oracle->stop());
  OracleOptions options;
  options.clock_limits.accept = true;
  oracle = boot(options);
  EXPECT_GT(unix_seconds(next(*oracle)), unix_seconds(before) + 24 * 3'600 * 364);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, NothingIsGivenWithoutWaitingBeforeACeilingIsDurable) {
  auto oracle = boot();
  EXPECT_FALSE(oracle->try_next());
  const Timestamp first = next(*oracle);
  const std::optional<Timestamp> second = oracle->try_next();
  ASSERT_TRUE(second);
  EXPECT_GT(*second, first);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, ALeaseEndsUnlessItIsRenewed) {
  OracleOptions options;
  options.lease = 1s;
  auto oracle = boot(options);
  (void)next(*oracle);
  EXPECT_TRUE(oracle->try_next());
  sim_.run_for(2s);
  EXPECT_FALSE(oracle->try_next());
  EXPECT_GT(next(*oracle), 0u);
  sim_.run(oracle->stop());
}

TEST_F(TimestampOracleTest, ANewIncarnationWithALeaseServesOnlyAfterTheOldOneCannot) {
  OracleOptions options;
  options.lease = 1s;
  auto old = boot(options);
  (void)next(*old);
  auto fresh = boot(options);
  EXPECT_FALSE(old->try_next());
  const Timestamp given = next(*fresh);
  EXPECT_FALSE(sim_.run(old->next()));
  EXPECT_GT(given, old->last());
  sim_.run(old->stop());
  sim_.run(fresh->stop());
}

TEST(CeilingTest, ReadsBackAndRefusesDamage) {
  const Slice bytes = encode_ceiling(123456789);
  EXPECT_EQ(decode_ceiling(bytes).value(), 123456789u);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged(bytes.text());
    damaged[i] ^= 1;
    EXPECT_FALSE(decode_ceiling(as_bytes(damaged))) << i;
  }
}

}  // namespace
}  // namespace moraine
