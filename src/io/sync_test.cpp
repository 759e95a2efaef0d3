#include "io/sync.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/sim/sim_executor.h"

namespace moraine {
namespace {

using Story = std::vector<std::string>;

Task<int> number(int value) {
  co_return value;
}

Task<int> sum(int first, int second) {
  const int left = co_await number(first);
  const int right = co_await number(second);
  co_return left + right;
}

Task<void> store_sum(int& to) {
  to = co_await sum(2, 3);
}

Task<std::unique_ptr<int>> boxed(int value) {
  co_return std::make_unique<int>(value);
}

Task<void> unbox(int& to) {
  const std::unique_ptr<int> box = co_await boxed(4);
  to = *box;
}

TEST(Task, GivesTheValueOfItsBodyToTheAwaiter) {
  int value = 0;
  spawn(store_sum(value));
  EXPECT_EQ(value, 5);
  spawn(unbox(value));
  EXPECT_EQ(value, 4);
}

Task<void> mark(bool& ran, std::shared_ptr<int> held) {
  ran = held != nullptr;
  co_return;
}

TEST(Task, StartsOnlyWhenAwaitedAndFreesItsFrameWhenItIsNot) {
  bool ran = false;
  auto held = std::make_shared<int>(1);
  {
    Task<void> task = mark(ran, held);
    EXPECT_EQ(held.use_count(), 2);
    EXPECT_FALSE(ran);
  }
  EXPECT_EQ(held.use_count(), 1);
  spawn(mark(ran, held));
  EXPECT_TRUE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

Task<int> count_down(int from) {
  int left = from;
  while (left > 0) left -= co_await number(1);
  co_return left;
}

Task<void> long_loop(int& to) {
  to = co_await count_down(1'000'000) + 1;
}

TEST(Task, ALongLoopOfReadyTasksDoesNotGrowTheStack) {
  int value = 0;
  spawn(long_loop(value));
  EXPECT_EQ(value, 1);
}

Task<void> sleeper(Executor& executor, Duration duration, Story& story, std::string name) {
  co_await sleep_for(executor, duration);
  story.push_back(std::move(name));
}

TEST(SleepFor, ResumesInOrderOfTheTimes) {
  SimExecutor loop;
  Story story;
  spawn(sleeper(loop, 3s, story, "three"));
  spawn(sleeper(loop, 1s, story, "one"));
  spawn(sleeper(loop, 2s, story, "two"));
  loop.run_until({2s});
  EXPECT_EQ(story, (Story{"one", "two"}));
  loop.run_until_idle();
  EXPECT_EQ(story.back(), "three");
  EXPECT_EQ(loop.now(), Instant{3s});
}

Task<void> yielder(Executor& executor, Story& story, std::string name) {
  co_await hop(executor);
  for (int i = 0; i < 2; ++i) {
    story.push_back(name);
    co_await yield(executor);
  }
}

TEST(Yield, LetsOthersRunFirstAndHopIsFreeOnTheSameThread) {
  SimExecutor loop;
  Story story;
  spawn(yielder(loop, story, "a"));
  spawn(yielder(loop, story, "b"));
  EXPECT_EQ(story, (Story{"a", "b"}));
  loop.run_until_idle();
  EXPECT_EQ(story, (Story{"a", "b", "a", "b"}));
}

Task<void> await_shot(OneShot<std::string>& shot, Story& story) {
  story.push_back(co_await shot);
}

TEST(OneShot, GivesItsValueBeforeAndAfterSomeoneWaits) {
  Story story;
  OneShot<std::string> early;
  EXPECT_FALSE(early.ready());
  EXPECT_TRUE(early.set("early"));
  EXPECT_TRUE(early.ready());
  spawn(await_shot(early, story));
  OneShot<std::string> late;
  spawn(await_shot(late, story));
  EXPECT_EQ(story, Story{"early"});
  EXPECT_TRUE(late.set("late"));
  EXPECT_EQ(story, (Story{"early", "late"}));
}

TEST(OneShot, ASecondValueIsIgnored) {
  Story story;
  OneShot<std::string> shot;
  EXPECT_TRUE(shot.set("first"));
  EXPECT_FALSE(shot.set("second"));
  spawn(await_shot(shot, story));
  EXPECT_EQ(story, Story{"first"});
}

Task<void> read_mail(Mailbox<int>& mailbox, Instant deadline, int count, std::vector<int>& read) {
  for (int i = 0; i < count; ++i) {
    const std::optional<int> item = co_await mailbox.pop_until(deadline);
    read.push_back(item.value_or(-1));
  }
}

TEST(Mailbox, GivesItemsInOrderToItsOneReader) {
  SimExecutor loop;
  Mailbox<int> mailbox(loop);
  std::vector<int> read;
  mailbox.push(1);
  mailbox.push(2);
  EXPECT_EQ(mailbox.size(), 2U);
  spawn(read_mail(mailbox, Instant::never(), 3, read));
  EXPECT_EQ(read, (std::vector<int>{1, 2}));
  EXPECT_TRUE(mailbox.empty());
  mailbox.push(3);
  EXPECT_EQ(read, (std::vector<int>{1, 2, 3}));
}

TEST(Mailbox, GivesNothingAtTheDeadline) {
  SimExecutor loop;
  Mailbox<int> mailbox(loop);
  std::vector<int> read;
  spawn(read_mail(mailbox, {5s}, 1, read));
  loop.run_until({4s});
  EXPECT_TRUE(read.empty());
  loop.run_until({5s});
  EXPECT_EQ(read, std::vector<int>{-1});
}

TEST(Mailbox, AnItemBeforeTheDeadlineCancelsTheTimer) {
  SimExecutor loop;
  Mailbox<int> mailbox(loop);
  std::vector<int> read;
  spawn(read_mail(mailbox, {5s}, 1, read));
  loop.schedule({1s}, [&] { mailbox.push(7); });
  loop.run_until_idle();
  EXPECT_EQ(read, std::vector<int>{7});
  EXPECT_EQ(loop.now(), Instant{1s});
}

TEST(Mailbox, AnItemThatIsThereWinsOverADeadlineThatHasPassed) {
  SimExecutor loop;
  loop.run_until({10s});
  Mailbox<int> mailbox(loop);
  std::vector<int> read;
  mailbox.push(7);
  spawn(read_mail(mailbox, {5s}, 2, read));
  EXPECT_EQ(read, std::vector<int>{7});
  loop.run_until_idle();
  EXPECT_EQ(read, (std::vector<int>{7, -1}));
  EXPECT_EQ(loop.now(), Instant{10s});
}

Task<void> use_permit(Executor& executor, Semaphore& semaphore, Story& story, std::string name) {
  co_await semaphore.acquire();
  story.push_back(std::move(name));
  co_await sleep_for(executor, 1s);
  semaphore.release();
}

TEST(Semaphore, ServesWaitersInOrderAndNeverMoreThanItsPermits) {
  SimExecutor loop;
  Semaphore semaphore(loop, 2);
  Story story;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    spawn(use_permit(loop, semaphore, story, name));
  }
  EXPECT_EQ(story, (Story{"a", "b"}));
  EXPECT_EQ(semaphore.waiting(), 3U);
  loop.run_until({1s});
  EXPECT_EQ(story, (Story{"a", "b", "c", "d"}));
  loop.run_until_idle();
  EXPECT_EQ(story, (Story{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(semaphore.waiting(), 0U);
}

Task<void> pass_through(Semaphore& semaphore, int& count) {
  co_await semaphore.acquire();
  ++count;
  semaphore.release();
}

// As many waiters as would overflow the stack if each were resumed by the one before it.
TEST(Semaphore, ALongChainOfWaitersDoesNotRecurse) {
  SimExecutor loop;
  Semaphore semaphore(loop, 1);
  constexpr int kWaiters = 300'000;
  int served = 0;
  Story first;
  spawn(use_permit(loop, semaphore, first, "first"));
  for (int i = 0; i < kWaiters; ++i) spawn(pass_through(semaphore, served));
  EXPECT_EQ(served, 0);
  EXPECT_EQ(semaphore.waiting(), static_cast<std::size_t>(kWaiters));
  loop.run_until_idle();
  EXPECT_EQ(served, kWaiters);
}

TEST(Semaphore, AReleaseDoesNotRunTheWaiter) {
  SimExecutor loop;
  Semaphore semaphore(loop, 0);
  int served = 0;
  spawn(pass_through(semaphore, served));
  semaphore.release();
  EXPECT_EQ(served, 0);
  EXPECT_EQ(semaphore.waiting(), 0U) << "it has the permit";
  loop.run_until_idle();
  EXPECT_EQ(served, 1);
}

Task<void> join_scope(TaskScope& scope, Story& story) {
  co_await scope.join();
  story.push_back("joined");
}

TEST(TaskScope, JoinWaitsForEveryTask) {
  SimExecutor loop;
  Story story;
  TaskScope scope;
  scope.spawn(sleeper(loop, 2s, story, "two"));
  scope.spawn(sleeper(loop, 1s, story, "one"));
  EXPECT_EQ(scope.live(), 2U);
  spawn(join_scope(scope, story));
  loop.run_until_idle();
  EXPECT_EQ(story, (Story{"one", "two", "joined"}));
  EXPECT_EQ(scope.live(), 0U);
}

TEST(TaskScope, JoinOfAnEmptyScopeIsImmediate) {
  Story story;
  TaskScope scope;
  spawn(join_scope(scope, story));
  EXPECT_EQ(story, Story{"joined"});
}

Task<void> work_until_closed(Executor& executor, TaskScope& scope, int& rounds) {
  while (!scope.closed()) {
    ++rounds;
    co_await sleep_for(executor, 1s);
  }
}

TEST(TaskScope, CloseAsksTasksToStop) {
  SimExecutor loop;
  TaskScope scope;
  int rounds = 0;
  scope.spawn(work_until_closed(loop, scope, rounds));
  loop.run_until({9500ms});
  scope.close();
  EXPECT_TRUE(loop.run_until_idle());
  EXPECT_EQ(rounds, 10);
  EXPECT_EQ(scope.live(), 0U);
}

TEST(TaskScopeDeathTest, DestroyingAScopeWithALiveTaskIsReported) {
  SimExecutor loop;
  Story story;
  EXPECT_DEATH(
      {
        TaskScope scope;
        scope.spawn(sleeper(loop, 2s, story, "two"));
      },
      "1 tasks outlive their scope");
}

}  // namespace
}  // namespace moraine
