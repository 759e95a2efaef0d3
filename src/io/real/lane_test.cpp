#include "io/real/lane.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "io/sync.h"

namespace moraine {
namespace {

class LaneTest : public testing::TestWithParam<IoMode> {
 protected:
  LaneOptions options() const { return {.name = "test", .io = GetParam(), .cpu = std::nullopt}; }
};

INSTANTIATE_TEST_SUITE_P(Modes, LaneTest, testing::Values(IoMode::kAuto, IoMode::kThreads),
                         [](const auto& info) {
                           return info.param == IoMode::kAuto ? "Auto" : "Threads";
                         });

Task<int> answer(Lane& lane) {
  co_await yield(lane);
  co_return 42;
}

TEST_P(LaneTest, RunGivesTheValueOfTheTask) {
  Lane lane(options());
  EXPECT_EQ(lane.run(answer(lane)), 42);
  EXPECT_EQ(lane.run(answer(lane)), 42);
}

Task<void> wait_for(OneShot<int>& done) {
  co_await done;
}

TEST_P(LaneTest, RunsPostsOfEachThreadInTheirOrder) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  Lane lane(options());
  std::vector<std::vector<int>> seen(kThreads);
  OneShot<int> done;
  int total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        lane.post([&, t, i] {
          seen[t].push_back(i);
          if (++total == kThreads * kPosts) done.set(total);
        });
      }
    });
  }
  lane.run(wait_for(done));
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& of_thread : seen) {
    ASSERT_EQ(of_thread.size(), static_cast<std::size_t>(kPosts));
    EXPECT_TRUE(std::is_sorted(of_thread.begin(), of_thread.end()));
  }
}

TEST_P(LaneTest, FiresTimersInTheOrderOfTheirTimes) {
  Lane lane(options());
  std::vector<int> order;
  OneShot<int> done;
  const Instant start = lane.now();
  lane.schedule(start + 3ms, [&] { done.set(0); });
  lane.schedule(start + 2ms, [&] { order.push_back(2); });
  lane.schedule(start + 1ms, [&] { order.push_back(1); });
  lane.schedule(start + 2ms, [&] { order.push_back(3); });
  lane.run(wait_for(done));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(lane.now() - start, 3ms);
}

TEST_P(LaneTest, ACancelledTimerNeverFiresEvenWhenItIsAlreadyDue) {
  Lane lane(options());
  bool fired = false;
  OneShot<int> done;
  const Instant start = lane.now();
  TimerId second;
  lane.schedule(start, [&] { lane.cancel(second); });
  second = lane.schedule(start, [&] { fired = true; });
  lane.schedule(start + 1ms, [&] { done.set(0); });
  lane.run(wait_for(done));
  EXPECT_FALSE(fired);
  lane.cancel(second);
}

TEST_P(LaneTest, ATimerThatRearmsItselfLetsOthersRun) {
  Lane lane(options());
  int rounds = 0;
  OneShot<int> done;
  std::function<void()> again = [&] {
    if (++rounds == 100) {
      done.set(0);
    } else {
      lane.schedule({}, again);
      lane.post([] {});
    }
  };
  lane.schedule({}, again);
  lane.run(wait_for(done));
  EXPECT_EQ(rounds, 100);
}

TEST_P(LaneTest, StopRunsWhatWasPostedBefore) {
  Lane lane(options());
  lane.start();
  int ran = 0;
  for (int i = 0; i < 1000; ++i) {
    lane.post([&] { lane.post([&] { ++ran; }); });
  }
  lane.stop();
  EXPECT_EQ(ran, 1000);
}

TEST_P(LaneTest, WakesFromSleepForEachPost) {
  Lane lane(options());
  lane.start();
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> ran = false;
    lane.post([&] {
      ran = true;
      ran.notify_one();
    });
    ran.wait(false);
  }
  EXPECT_FALSE(lane.on_this_thread());
  lane.stop();
}

Task<std::thread::id> thread_on(Lane& lane, Lane& back) {
  co_await hop(lane);
  const std::thread::id id = std::this_thread::get_id();
  co_await hop(back);
  co_return id;
}

TEST_P(LaneTest, ACoroutineHopsToAnotherLaneAndBack) {
  Lane here(options());
  Lane there(options());
  there.start();
  EXPECT_NE(here.run(thread_on(there, here)), std::this_thread::get_id());
  there.stop();
}

struct Counter final : FdHandler {
  void on_ready(Ready ready) override {
    if (!ready.readable) return;
    ++readable;
    if (done != nullptr) done->set(readable);
  }
  int readable = 0;
  OneShot<int>* done = nullptr;
};

TEST_P(LaneTest, NotifiesAWatcherWhenItsDescriptorIsReadable) {
  Lane lane(options());
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  Counter counter;
  OneShot<int> done;
  counter.done = &done;
  const WatchId watch = lane.watch(fd, counter);
  std::thread writer([fd] { eventfd_write(fd, 1); });
  lane.run(wait_for(done));
  writer.join();
  EXPECT_EQ(counter.readable, 1);
  lane.unwatch(watch, fd);
  close(fd);
}

TEST_P(LaneTest, AnUnwatchedDescriptorIsSilentEvenInsideTheSameBatch) {
  Lane lane(options());
  struct Killer final : FdHandler {
    void on_ready(Ready) override {
      if (victim.value != 0) lane->unwatch(std::exchange(victim, {}), victim_fd);
    }
    Lane* lane = nullptr;
    WatchId victim;
    int victim_fd = -1;
  };
  const int first = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  const int second = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  Killer killer;
  Counter counter;
  const WatchId first_watch = lane.watch(first, killer);
  killer.lane = &lane;
  killer.victim = lane.watch(second, counter);
  killer.victim_fd = second;
  OneShot<int> done;
  lane.schedule(lane.now() + 1ms, [&] { done.set(0); });
  lane.run(wait_for(done));
  EXPECT_EQ(counter.readable, 0);
  lane.unwatch(first_watch, first);
  close(first);
  close(second);
}

Task<bool> has_uring(Lane& lane) {
  co_return lane.uring() != nullptr;
}

TEST(Lane, TheEnvironmentCanForbidIoUring) {
  const char* before = std::getenv("MORAINE_IO");
  setenv("MORAINE_IO", "threads", 1);
  Lane lane;
  EXPECT_FALSE(lane.run(has_uring(lane)));
  if (before == nullptr) unsetenv("MORAINE_IO");
}

TEST(TimerHeap, ForgetsCancelledTimersBeforeTheyOutgrowTheLiveOnes) {
  TimerHeap heap;
  int fired = 0;
  heap.add(Instant{5ms}, [&] { ++fired; });
  for (int i = 0; i < 10'000; ++i) heap.cancel(heap.add(Instant{1ms}, [&] { fired += 100; }));
  EXPECT_EQ(heap.size(), 1U);
  EXPECT_EQ(heap.next(), Instant{5ms});
  EXPECT_FALSE(heap.take_due(Instant{4ms}, heap.mark()));
  Callback due = heap.take_due(Instant{5ms}, heap.mark());
  ASSERT_TRUE(due);
  due();
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(heap.next(), Instant::never());
}

TEST(TimerHeap, AnIdOfAFiredTimerDoesNotCancelItsSuccessor) {
  TimerHeap heap;
  const TimerId first = heap.add(Instant{1ms}, [] {});
  EXPECT_TRUE(heap.take_due(Instant{1ms}, heap.mark()));
  heap.add(Instant{1ms}, [] {});
  heap.cancel(first);
  EXPECT_EQ(heap.size(), 1U);
}

}  // namespace
}  // namespace moraine
