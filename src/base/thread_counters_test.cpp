#include "base/thread_counters.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(ThreadHistogram, EveryCallIsCountedAndSomeAreTimed) {
  ThreadHistogram durations;
  std::uint64_t timed = 0;
  constexpr std::uint64_t kCalls = 10 * ThreadHistogram::kCallsPerSample;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    if (durations.wants_sample()) {
      ++timed;
      durations.observe_sample(100);
    } else {
      durations.observe_untimed();
    }
    EXPECT_EQ(durations.count(), i + 1);
  }
  EXPECT_EQ(timed, 10u);
  EXPECT_EQ(durations.sum(), kCalls * 100);
  EXPECT_EQ(durations.count_below(7), kCalls);
  EXPECT_EQ(durations.count_below(6), 0u);
}

TEST(ThreadHistogram, BucketsEndAtPowersOfTwo) {
  ThreadHistogram durations;
  for (const std::uint64_t value : {0ULL, 1ULL, 2ULL, 3ULL, 1023ULL, 1024ULL, 1ULL << 50}) {
    durations.observe(value);
  }
  EXPECT_EQ(durations.count_below(0), 1u);
  EXPECT_EQ(durations.count_below(1), 2u);
  EXPECT_EQ(durations.count_below(2), 4u);
  EXPECT_EQ(durations.count_below(10), 5u);
  EXPECT_EQ(durations.count_below(11), 6u);
  EXPECT_EQ(durations.count(), 7u);
}

}  // namespace
}  // namespace moraine
