#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/epoch.h"

namespace moraine {
namespace {

constexpr std::uint64_t kAlive = 0x600d;
constexpr std::uint64_t kDead = 0xdead;

struct Object {
  std::uint64_t state = kAlive;
};

TEST(EpochThreads, ReadersNeverSeeAFreedObject) {
  constexpr int kReaders = 3;
  constexpr int kReplacements = 20'000;
  std::atomic<Object*> published{new Object};
  std::atomic<bool> stop{false};
  std::atomic<int> dead_seen{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const EpochGuard guard;
        const Object* object = published.load(std::memory_order_acquire);
        const EpochGuard nested;
        if (object->state != kAlive) dead_seen.fetch_add(1);
      }
    });
  }
  for (int i = 0; i < kReplacements; ++i) {
    Object* old = published.exchange(new Object, std::memory_order_acq_rel);
    retire([old] {
      old->state = kDead;
      delete old;
    });
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(run_retired());
  EXPECT_EQ(dead_seen.load(), 0);
  delete published.load();
}

TEST(EpochThreads, SlotsOfThreadsThatEndedAreUsedAgain) {
  for (int i = 0; i < 1'000; ++i) {
    std::thread([] { const EpochGuard guard; }).join();
  }
  bool freed = false;
  retire([&] { freed = true; });
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(EpochThreads, ThousandsOfThreadsHoldGuardsAtOnce) {
  constexpr int kThreads = 1'300;
  std::atomic<int> holding{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const EpochGuard guard;
      holding.fetch_add(1);
      stop.wait(false);
    });
  }
  while (holding.load() < kThreads) std::this_thread::yield();
  bool freed = false;
  retire([&] { freed = true; });
  EXPECT_FALSE(run_retired());
  EXPECT_FALSE(freed);
  stop.store(true);
  stop.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(EpochThreads, SeveralThreadsRetire) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  std::atomic<int> freed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const EpochGuard guard;
        retire([&] { freed.fetch_add(1, std::memory_order_relaxed); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(run_retired());
  EXPECT_EQ(freed.load(), kThreads * kEach);
}

}  // namespace
}  // namespace moraine
