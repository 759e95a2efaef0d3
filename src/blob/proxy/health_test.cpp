#include "blob/proxy/health.h"

#include <gtest/gtest.h>

#include "blob/proxy/failures.h"

namespace moraine::blob {
namespace {

constexpr Operation kRead = Operation::kRead;

TEST(GroupHealth, AFailedDiskIsAvoidedForAWhile) {
  GroupHealth health(8, {});
  const Instant now{100s};
  health.failed(3, now);
  EXPECT_EQ(health.avoid(kRead, now), disk_bit(3));
  EXPECT_EQ(health.avoid(kRead, now + 2s), 0u);
  health.failed(3, now);
  health.replied(3, kRead, 1ms, now);
  EXPECT_EQ(health.avoid(kRead, now), 0u) << "it answered since";
}

TEST(GroupHealth, AVerySlowDiskIsAvoidedUntilTheMeasurementIsOld) {
  GroupHealth health(8, {});
  const Instant now{100s};
  for (std::uint32_t order = 0; order < 8; ++order) {
    for (int i = 0; i < 20; ++i) health.replied(order, kRead, order == 5 ? 500ms : 1ms, now);
  }
  EXPECT_EQ(health.avoid(kRead, now), disk_bit(5));
  EXPECT_EQ(health.avoid(Operation::kWrite, now), 0u);
  EXPECT_EQ(health.avoid(kRead, now + kMeasuredFor + 1s), 0u);
}

TEST(GroupHealth, TheHedgeDelayFollowsTheTypicalDiskWithinItsBounds) {
  const ProxyOptions options;
  GroupHealth health(8, options);
  const Instant now{100s};
  EXPECT_EQ(health.hedge_delay(kRead, 0, now), options.hedge_initial);
  for (std::uint32_t order = 0; order < 8; ++order) health.replied(order, kRead, 1us, now);
  EXPECT_EQ(health.hedge_delay(kRead, 0, now), options.hedge_min);
  for (std::uint32_t order = 0; order < 8; ++order) {
    for (int i = 0; i < 100; ++i) health.replied(order, kRead, 10s, now);
  }
  EXPECT_EQ(health.hedge_delay(kRead, 0, now), options.hedge_max);
  EXPECT_GT(health.hedge_delay(kRead, 1 << 20, now), options.hedge_max);
}

TEST(Failures, NamesTheDisksAndKeepsTheListShort) {
  Failures failures;
  EXPECT_EQ(failures.reason("why"), "why");
  for (std::uint32_t order = 0; order < 10; ++order) failures.add(order, Status::kNotReady, "");
  EXPECT_NE(failures.reason("why").find("why: disk 0 NOTREADY"), std::string::npos);
  EXPECT_NE(failures.reason("why").find("and 2 more"), std::string::npos);
  EXPECT_EQ(failures.status(), Status::kError);
  Failures gone;
  gone.add(0, Status::kNoGroup, "");
  EXPECT_EQ(gone.status(), Status::kNoGroup);
}

}  // namespace
}  // namespace moraine::blob
