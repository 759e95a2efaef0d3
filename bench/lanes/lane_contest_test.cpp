#include "bench/lanes/lane_contest.h"

#include <gtest/gtest.h>

namespace moraine::bench {
namespace {

TEST(LaneBusy, ReadsTheSecondsOfEachLane) {
  const LaneBusy busy = lane_busy(
      "# TYPE moraine_lane_busy_seconds_total counter\n"
      "moraine_lane_busy_seconds_total{lane=\"0\"} 12.5\n"
      "moraine_lane_busy_seconds_total{kind=\"x\",lane=\"1\"} 3e-1\n"
      "moraine_lane_hops_total{lane=\"2\"} 7");
  EXPECT_EQ(busy, (LaneBusy{{"0", 12.5}, {"1", 0.3}}));
}

TEST(LaneBusy, IsEmptyWithoutTheMetric) {
  EXPECT_TRUE(lane_busy("").empty());
  EXPECT_TRUE(lane_busy("process_cpu_seconds_total 3\n\n").empty());
  EXPECT_TRUE(lane_busy("moraine_lane_busy_seconds_total{lane=\"0\"}").empty());
}

TEST(LaneBusy, IsPrintedAsSharesOfTheTime) {
  EXPECT_EQ(print_shares({{"0", 1.94}, {"1", 0.5}}, 2), "0: 97 %, 1: 25 %");
  EXPECT_EQ(print_shares({}, 2), "-");
}

}  // namespace
}  // namespace moraine::bench
