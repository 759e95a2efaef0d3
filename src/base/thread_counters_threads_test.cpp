#include "base/thread_counters.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace moraine {
namespace {

constexpr std::uint64_t kAdditions = 20'000;

// More threads than shards, all at once: some own a shard, the others share one.
TEST(ThreadCounters, NothingIsLostWithMoreThreadsThanShards) {
  ThreadCounters<2> counters;
  constexpr std::size_t kThreads = kThreadShards + 8;
  std::latch all_here(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        counters.add(1, 1);
        all_here.arrive_and_wait();
        for (std::uint64_t n = 1; n < kAdditions; ++n) counters.add(1, 1);
      });
    }
  }
  EXPECT_EQ(counters.sum(1), kThreads * kAdditions);
  EXPECT_EQ(counters.sum(0), 0u);
}

TEST(ThreadCounters, NothingIsLostWhenThreadsStartAndEnd) {
  ThreadCounters<1> counters;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) counters.add(0, 2);
      });
    }
  }
  EXPECT_EQ(counters.sum(0), 50u * 4 * 100 * 2);
}

TEST(ThreadCounters, LivingThreadsHaveNumbersOfTheirOwn) {
  const std::uint32_t mine = thread_number();
  std::uint32_t other = mine;
  std::jthread([&] { other = thread_number(); }).join();
  EXPECT_NE(other, mine);
  std::uint32_t later = mine;
  std::jthread([&] { later = thread_number(); }).join();
  EXPECT_EQ(later, other) << "the number of a thread that has ended is used again";
  EXPECT_EQ(thread_number(), mine);
}

}  // namespace
}  // namespace moraine
