#include "node/tablet_reconciler.h"

#include <gtest/gtest.h>

#include "base/invariant.h"
#include "cluster/fake_placement.h"
#include "cluster/tablet_ids.h"
#include "io/sim/sim_world.h"

namespace moraine {
namespace {

constexpr Duration kBootTime = 20ms;
constexpr Duration kStopTime = 10ms;

// Counts its calls; two at once are an invariant failure.
class FakeTablet final : public ManagedTablet {
 public:
  explicit FakeTablet(Executor& executor) : executor_(executor) {}

  int starts = 0;
  int configured = 0;
  int abandoned = 0;
  bool boots = true;  // Or fails.

  bool started() const { return started_; }
  void start() override {
    INVARIANT(!started_, "it runs already");
    started_ = true;
    ++starts;
    scope_.spawn(boot());
  }
  void configure() override {
    INVARIANT(started_ && !stopping_, "it does not run");
    ++configured;
  }
  Task<void> stop() override {
    INVARIANT(started_ && !stopping_, "it does not run");
    stopping_ = true;
    changed_.notify_all();
    co_await scope_.join();
    running_ = false;
    co_await sleep_for(executor_, kStopTime);
    started_ = stopping_ = false;
  }
  void abandon() override { ++abandoned; }
  Task<bool> wait_running(Instant deadline) override {
    while (!running_ && !stopping_) {
      if (!co_await changed_.wait_until(deadline)) co_return false;
    }
    co_return running_ && !stopping_;
  }
  bool running() const override { return running_; }
  const std::optional<Error>& boot_error() const override { return error_; }

 private:
  Task<void> boot() {
    co_await sleep_for(executor_, kBootTime);
    running_ = boots && !stopping_;
    error_.reset();
    if (!boots) error_ = Error{Errc::kUnavailable, "a fake"};
    changed_.notify_all();
  }

  Executor& executor_;
  bool started_ = false;
  bool stopping_ = false;
  bool running_ = false;
  std::optional<Error> error_;
  Event changed_{executor_};
  TaskScope scope_;
};

using FakePtr = std::shared_ptr<FakeTablet>;

TabletId tablet(std::uint64_t number) {
  return TabletId{kFirstTopicTabletId.value + number};
}

PathId owner(std::uint8_t number) {
  PathId id{};
  id[0] = number;
  return id;
}

class TabletReconcilerTest : public testing::Test {
 protected:
  ~TabletReconcilerTest() override {
    if (reconciler_) world_.run(reconciler_->stop());
    reconciler_.reset();
    EXPECT_EQ(placement_.watchers(), 0u);
    world_.shutdown();
  }
  Executor& executor() { return world_.executor(); }
  Instant soon() { return executor().now() + 1s; }
  FakePtr fake(std::uint64_t number) {
    FakePtr& made = fakes_[number];
    if (!made) made = std::make_shared<FakeTablet>(executor());
    return made;
  }
  void set(std::uint8_t of, const std::set<std::uint64_t>& numbers,
           NodeKind kind = NodeKind::kTopic) {
    ManagedTablets tablets;
    for (const std::uint64_t number : numbers) tablets.emplace(tablet(number), fake(number));
    reconciler_->set(owner(of), kind, "its name", std::move(tablets));
  }
  bool wait(std::uint64_t number) {
    return world_.run(reconciler_->wait_running(tablet(number), soon()));
  }

  SimWorld world_{3};
  FakePlacement placement_{2};
  std::map<std::uint64_t, FakePtr> fakes_;
  std::unique_ptr<TabletReconciler> reconciler_ =
      std::make_unique<TabletReconciler>(world_.executor(), &placement_);
};

TEST_F(TabletReconcilerTest, ATabletWhoseWatcherIsCalledLateIsWaitedForUntilTheDeadline) {
  placement_.move(tablet(1), std::nullopt);
  set(1, {1});
  EXPECT_FALSE(fake(1)->started());
  placement_.move_silently(tablet(1), 0);
  const Instant begun = executor().now();
  EXPECT_FALSE(wait(1));
  EXPECT_EQ(executor().now() - begun, 1s);
  std::optional<bool> running;
  const auto waits = [&]() -> Task<void> {
    running = co_await reconciler_->wait_running(tablet(1), soon());
  };
  spawn(waits());
  world_.run_for(100ms);
  EXPECT_FALSE(running);
  placement_.move(tablet(1), 0);
  world_.run_for(100ms);
  EXPECT_EQ(running, true);
}

TEST_F(TabletReconcilerTest, WhatIsWantedIsStartedAtOnceAndConfiguredWhenItChanges) {
  set(1, {1, 2});
  EXPECT_TRUE(fake(1)->started());
  EXPECT_TRUE(fake(2)->started());
  EXPECT_TRUE(wait(1));
  EXPECT_EQ(fake(1)->configured, 0);
  set(1, {1, 2, 3});
  EXPECT_EQ(fake(1)->configured, 1);
  EXPECT_EQ(fake(3)->configured, 0);
  EXPECT_TRUE(world_.run(reconciler_->wait_running(owner(1), soon())));
  set(2, {4});
  EXPECT_EQ(fake(1)->configured, 1) << "another topic";
  EXPECT_EQ(fake(1)->starts, 1);
}

TEST_F(TabletReconcilerTest, WhatIsNoLongerWantedIsStopped) {
  set(1, {1, 2});
  set(1, {2});
  EXPECT_TRUE(fake(1)->started()) << "it stops in the background";
  world_.run(reconciler_->wait_stopped(tablet(1)));
  EXPECT_FALSE(fake(1)->started());
  EXPECT_TRUE(wait(1)) << "there is nothing to wait for";
  EXPECT_TRUE(wait(2));
  reconciler_->remove(owner(1));
  world_.run(reconciler_->wait_stopped(tablet(2)));
  EXPECT_FALSE(fake(2)->started());
}

TEST_F(TabletReconcilerTest, ATabletThatIsWantedAgainWhileItStopsIsStartedAfterwards) {
  set(1, {1});
  EXPECT_TRUE(wait(1));
  set(1, {});
  set(1, {1});
  EXPECT_EQ(fake(1)->starts, 1);
  EXPECT_TRUE(wait(1));
  EXPECT_EQ(fake(1)->starts, 2);
}

TEST_F(TabletReconcilerTest, PlacementMovesATabletAwayAndBackAndToAnotherLane) {
  placement_.move(tablet(1), std::nullopt);
  set(1, {1, 2});
  EXPECT_FALSE(fake(1)->started());
  EXPECT_TRUE(wait(1)) << "it is not to run here";
  placement_.move(tablet(1), 1);
  EXPECT_TRUE(fake(1)->started());
  EXPECT_TRUE(wait(1));
  placement_.move(tablet(1), std::nullopt);
  world_.run_for(1s);
  EXPECT_FALSE(fake(1)->started());
  placement_.move(tablet(1), 0);
  EXPECT_TRUE(wait(1));
  EXPECT_EQ(fake(1)->starts, 2);
  placement_.move(tablet(1), 1);
  placement_.move(tablet(1), 0);
  world_.run_for(1s);
  EXPECT_TRUE(fake(1)->running());
  EXPECT_EQ(fake(1)->starts, 3) << "it had to leave its lane, and came back";
  placement_.move(tablet(1), 0);
  world_.run_for(1s);
  EXPECT_EQ(fake(1)->starts, 3) << "it is there already";
  EXPECT_EQ(fake(2)->starts, 1);
  placement_.move(tablet(99), 1);
  EXPECT_EQ(reconciler_->lane_of(tablet(1)), 0u);
}

TEST_F(TabletReconcilerTest, TheReportSaysWhatDoesNotRunAndWhy) {
  for (std::uint64_t i = 10; i < 10 + 2 * kReportedBootErrorsMax; ++i) fake(i)->boots = false;
  fake(2)->boots = false;
  set(1, {1, 2});
  EXPECT_EQ(reconciler_->report(NodeKind::kTopic).starting, 2u);
  EXPECT_FALSE(wait(2)) << "the deadline has passed";
  TabletsReport report = reconciler_->report(NodeKind::kTopic);
  EXPECT_EQ(report.running, 1u);
  EXPECT_EQ(report.starting, 1u);
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].message(), "unavailable: its name: a fake");
  EXPECT_FALSE(world_.run(reconciler_->wait_running(NodeKind::kTopic, soon())));
  EXPECT_TRUE(world_.run(reconciler_->wait_running(NodeKind::kTable, soon())));
  EXPECT_EQ(reconciler_->report(NodeKind::kTable).starting, 0u);

  placement_.move(tablet(2), std::nullopt);
  report = reconciler_->report(NodeKind::kTopic);
  EXPECT_EQ(report.starting, 0u) << "it is not this node's any more";
  EXPECT_TRUE(report.errors.empty());
  std::set<std::uint64_t> many;
  for (std::uint64_t i = 10; i < 10 + 2 * kReportedBootErrorsMax; ++i) many.insert(i);
  set(2, many, NodeKind::kTable);
  world_.run_for(1s);
  report = reconciler_->report(NodeKind::kTable);
  EXPECT_EQ(report.starting, many.size());
  EXPECT_EQ(report.errors.size(), kReportedBootErrorsMax);
}

Task<void> wait_into(TabletReconciler& reconciler, std::optional<bool>& out) {
  out = co_await reconciler.wait_running(tablet(0), Instant::never());
}

TEST_F(TabletReconcilerTest, StopEndsAllTabletsAndWaits) {
  std::set<std::uint64_t> many;
  for (std::uint64_t i = 0; i < 3 * kStopsMax; ++i) many.insert(i);
  set(1, many);
  fake(0)->boots = false;
  std::optional<bool> waited;
  spawn(wait_into(*reconciler_, waited));
  world_.run_for(1s);
  EXPECT_FALSE(waited);
  world_.run(reconciler_->stop());
  EXPECT_EQ(waited, false);
  for (const std::uint64_t number : many) {
    EXPECT_FALSE(fake(number)->started());
    EXPECT_EQ(fake(number)->abandoned, 0);
  }
  set(2, {1'000});
  placement_.move(tablet(1), 0);
  EXPECT_FALSE(fake(1'000)->started());
  EXPECT_FALSE(fake(1)->started());
  reconciler_.reset();
}

TEST_F(TabletReconcilerTest, AbandonReachesTabletsThatAreBeingStoppedToo) {
  set(1, {1, 2});
  EXPECT_TRUE(wait(1));
  set(1, {2});
  reconciler_->abandon();
  EXPECT_EQ(fake(1)->abandoned, 1);
  EXPECT_EQ(fake(2)->abandoned, 1);
  world_.run_for(1s);
  EXPECT_FALSE(fake(1)->started());
  EXPECT_FALSE(fake(2)->started());
}

// Topics and placement change at random: in the end, exactly what is wanted here runs.
TEST_F(TabletReconcilerTest, AnySequenceOfChangesEndsWithWhatIsWanted) {
  SeededRandom random(11);
  constexpr std::uint64_t kPerOwner = 4;
  std::set<std::uint64_t> wanted;
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t number = random.below(3 * kPerOwner);
    if (random.one_in(2)) {
      const std::uint64_t lane = random.below(3);
      placement_.move(tablet(number), lane == 2 ? std::nullopt : std::optional<std::size_t>(lane));
    } else {
      const std::uint64_t of = number / kPerOwner;
      std::set<std::uint64_t> mine;
      for (std::uint64_t i = of * kPerOwner; i < (of + 1) * kPerOwner; ++i) {
        wanted.erase(i);
        if (random.one_in(2)) mine.insert(i);
      }
      wanted.insert(mine.begin(), mine.end());
      set(static_cast<std::uint8_t>(of), mine);
    }
    if (random.one_in(3)) world_.run_for(Duration(random.below(15'000'000)));
    if (!random.one_in(100)) continue;
    world_.run_for(1s);
    std::size_t running = 0;
    for (std::uint64_t i = 0; i < 3 * kPerOwner; ++i) {
      const bool here = wanted.contains(i) && placement_.place_of(tablet(i)).lane();
      EXPECT_EQ(fake(i)->running(), here) << i;
      EXPECT_EQ(fake(i)->started(), here) << i;
      running += here ? 1 : 0;
    }
    EXPECT_EQ(reconciler_->report(NodeKind::kTopic).running, running);
  }
}

}  // namespace
}  // namespace moraine
