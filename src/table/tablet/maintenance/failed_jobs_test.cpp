#include "table/tablet/maintenance/failed_jobs.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

using Chunks = std::set<std::uint64_t>;

Instant at(Duration since_start) {
  return Instant{} + since_start;
}

Error error(std::string text) {
  return {Errc::kInvalidArgument, std::move(text)};
}

TEST(FailedJobs, OnlyTheirChunksWait) {
  FailedJobs jobs;
  EXPECT_TRUE(jobs.empty());
  EXPECT_EQ(jobs.next(at(0s)), Instant::never());
  jobs.add({1, 2}, error("large"), at(10s));
  EXPECT_EQ(jobs.waiting(at(10s)), (Chunks{1, 2}));
  EXPECT_EQ(jobs.next(at(10s)), at(10s) + kFailedJobPauseMin);
  EXPECT_EQ(jobs.waiting(at(10s) + kFailedJobPauseMin), Chunks{});
  EXPECT_EQ(jobs.error()->context, "large");
}

TEST(FailedJobs, TheirPausesGrowAlsoWhenTheSetGrows) {
  FailedJobs jobs;
  std::vector<std::uint64_t> chunks = {1};
  Instant now = at(0s);
  Duration before{0};
  for (std::uint64_t i = 0; i < 20; ++i) {
    jobs.add(chunks, error("again"), now);
    const Duration pause = jobs.next(now).since_start - now.since_start;
    EXPECT_GE(pause, before);
    EXPECT_EQ(pause, std::min<Duration>(kFailedJobPauseMin * (1 << std::min<int>(i, 20)),
                                        kFailedJobPauseMax));
    before = pause;
    now = jobs.next(now);
    chunks.push_back(i + 2);
  }
}

TEST(FailedJobs, SetsOfAChunkThatIsGoneAreForgotten) {
  FailedJobs jobs;
  jobs.add({1, 2}, error("a"), at(0s));
  jobs.add({2, 3}, error("b"), at(0s));
  jobs.add({4}, error("c"), at(0s));
  jobs.forget(2);
  EXPECT_EQ(jobs.waiting(at(0s)), Chunks{4});
  jobs.forget(4);
  EXPECT_TRUE(jobs.empty());
}

TEST(FailedJobs, AreBounded) {
  FailedJobs jobs;
  for (std::uint64_t i = 0; i < 2 * kFailedJobsMax; ++i) {
    jobs.add({i}, error("many"), at(i * 1ms));
  }
  EXPECT_EQ(jobs.waiting(at(0s)).size(), kFailedJobsMax);
}

}  // namespace
}  // namespace moraine::table
