#include "io/event.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/sim/node_executor.h"
#include "io/sim/sim_executor.h"

namespace moraine {
namespace {

using Story = std::vector<std::string>;

class EventTest : public testing::Test {
 protected:
  Task<void> wait(std::string name, Instant deadline) {
    const bool notified = co_await event_.wait_until(deadline);
    story_.push_back(name + (notified ? " notified" : " late"));
  }
  Task<void> wait_in(TaskScope& scope, std::string name, Instant deadline) {
    const bool notified = co_await event_.wait_until(deadline, scope);
    story_.push_back(name + (notified ? " notified" : " ended"));
  }
  Task<void> sleep_in(TaskScope& scope) {
    const bool slept = co_await sleep_for(loop_, 10s, scope);
    story_.push_back(slept ? "slept" : "closed");
  }
  Task<void> until_zero(int& count) {
    while (count > 0) co_await event_.wait();
    story_.push_back("zero");
  }
  Task<void> look_again(Signal& signal, Instant deadline, TaskScope& scope) {
    while (!scope.closed()) {
      const bool set = co_await signal.wait_until(deadline, scope);
      story_.push_back(set ? "set" : "not set");
      if (loop_.now() >= deadline) co_return;
    }
  }

  SimExecutor loop_;
  Event event_{loop_};
  Story story_;
};

TEST_F(EventTest, WakesAllInOrderFromTheQueueAndNotInsideTheCall) {
  spawn(wait("a", Instant::never()));
  spawn(wait("b", {5s}));
  EXPECT_TRUE(event_.waited_for());
  event_.notify_all();
  EXPECT_TRUE(story_.empty());
  EXPECT_FALSE(event_.waited_for());
  loop_.run_until_idle();
  EXPECT_EQ(story_, (Story{"a notified", "b notified"}));
  EXPECT_EQ(loop_.now(), Instant{});  // The timer of b was cancelled.
}

TEST_F(EventTest, ANotificationIsNotRemembered) {
  event_.notify_all();
  spawn(wait("a", {5s}));
  loop_.run_until_idle();
  EXPECT_EQ(story_, Story{"a late"});
  EXPECT_EQ(loop_.now(), Instant{5s});
}

TEST_F(EventTest, AWaitThatIsLateLeavesTheOthersInOrder) {
  spawn(wait("a", Instant::never()));
  spawn(wait("b", {1s}));
  spawn(wait("c", Instant::never()));
  loop_.run_until({2s});
  EXPECT_EQ(story_, Story{"b late"});
  event_.notify_all();
  loop_.run_until_idle();
  EXPECT_EQ(story_, (Story{"b late", "a notified", "c notified"}));
}

TEST_F(EventTest, WhoWaitsAgainIsNotWokenByTheSameNotification) {
  int count = 2;
  spawn(until_zero(count));
  count = 1;
  event_.notify_all();
  loop_.run_until_idle();
  EXPECT_TRUE(event_.waited_for());
  count = 0;
  event_.notify_all();
  loop_.run_until_idle();
  EXPECT_EQ(story_, Story{"zero"});
}

TEST_F(EventTest, MayBeDestroyedBetweenTheNotificationAndTheResumption) {
  auto event = std::make_unique<Event>(loop_);
  struct Waiter {
    static Task<void> run(Event& event, Story& story) {
      const bool notified = co_await event.wait();
      story.push_back(notified ? "notified" : "late");
    }
  };
  spawn(Waiter::run(*event, story_));
  event->notify_all();
  event.reset();
  loop_.run_until_idle();
  EXPECT_EQ(story_, Story{"notified"});
}

TEST_F(EventTest, ClosingAScopeEndsItsWaitsAndNoOthers) {
  TaskScope scope;
  TaskScope other;
  scope.spawn(wait_in(scope, "a", {5s}));
  other.spawn(wait_in(other, "b", {5s}));
  scope.spawn(sleep_in(scope));
  scope.close();
  EXPECT_TRUE(story_.empty());
  loop_.run_until({1s});
  EXPECT_EQ(story_, (Story{"a ended", "closed"}));
  event_.notify_all();
  loop_.run_until_idle();
  EXPECT_EQ(story_.back(), "b notified");
  EXPECT_EQ(loop_.now(), Instant{1s});
}

TEST_F(EventTest, AWaitInAClosedScopeEndsAtOnce) {
  TaskScope scope;
  scope.close();
  scope.spawn(wait_in(scope, "a", Instant::never()));
  scope.spawn(sleep_in(scope));
  EXPECT_EQ(story_, (Story{"a ended", "closed"}));
}

TEST_F(EventTest, ASleepLastsForItsTimeWhileTheScopeIsOpen) {
  TaskScope scope;
  scope.spawn(sleep_in(scope));
  loop_.run_until_idle();
  EXPECT_EQ(story_, Story{"slept"});
  EXPECT_EQ(loop_.now(), Instant{10s});
}

TEST_F(EventTest, ASignalIsRememberedOnceAndSeenFromTheQueue) {
  Signal signal(loop_);
  TaskScope scope;
  signal.set();
  signal.set();
  EXPECT_TRUE(signal.is_set());
  scope.spawn(look_again(signal, {5s}, scope));
  EXPECT_TRUE(story_.empty());
  loop_.run_until({1s});
  EXPECT_EQ(story_, Story{"set"});
  EXPECT_FALSE(signal.is_set());
  signal.set();
  signal.set();  // Before the waiter has run: the same request.
  loop_.run_until({2s});
  EXPECT_EQ(story_, (Story{"set", "set"}));
  loop_.run_until_idle();
  EXPECT_EQ(story_.back(), "not set");
  EXPECT_EQ(loop_.now(), Instant{5s});
}

TEST_F(EventTest, ClosingTheScopeEndsTheWaitForASignal) {
  Signal signal(loop_);
  TaskScope scope;
  scope.spawn(look_again(signal, Instant::never(), scope));
  scope.close();
  loop_.run_until_idle();
  EXPECT_EQ(story_, Story{"not set"});
  EXPECT_EQ(scope.live(), 0U);
}

using EventDeathTest = EventTest;

TEST_F(EventDeathTest, AnotherLaneMustNotNotifyIt) {
  NodeExecutor first(loop_, 1, 0);
  NodeExecutor second(loop_, 1, 1);
  struct Waiter {
    static Task<void> run(Event& event) { co_await event.wait(); }
  };
  EXPECT_DEATH(
      {
        Event event(first);
        first.post([&] { spawn(Waiter::run(event)); });
        second.post([&] { event.notify_all(); });
        loop_.run_until_idle();
      },
      "notified by another executor");
}

TEST_F(EventDeathTest, DestroyingItWhileACoroutineWaitsIsReported) {
  struct Waiter {
    static Task<void> run(Event& event) { co_await event.wait(); }
  };
  EXPECT_DEATH(
      {
        Event event(loop_);
        spawn(Waiter::run(event));
      },
      "destroyed while a coroutine waits");
}

}  // namespace
}  // namespace moraine
