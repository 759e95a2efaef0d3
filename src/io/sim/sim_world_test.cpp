#include "io/sim/sim_world.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/coding.h"
#include "io/sync.h"

namespace moraine {
namespace {

// Appends each request to its disk, one sector each, and replies when it is durable.
class Store {
 public:
  explicit Store(World world) : world_(world), mailbox_(world.executor) {}

  Task<Result<void>> start() {
    DiskOptions options{.create = true, .create_size = 1024 * kSectorSize};
    auto created = co_await world_.disks.open("log", options);
    if (!created) created = co_await world_.disks.open("log", {});
    if (!created) co_return std::unexpected(created.error());
    disk_ = std::move(*created);
    tasks_.spawn(sync_now_and_then());
    tasks_.spawn(wait_for_mail());
    world_.network.serve([this](NodeId, Slice request) { return append(std::move(request)); });
    co_return Result<void>();
  }

  void stop() {
    tasks_.close();
    mailbox_.push(0);
  }
  bool stopped() const { return tasks_.live() == 0; }
  int syncs() const { return syncs_; }

 private:
  Task<Slice> append(Slice request) {
    Buffer sector = Buffer::zeroed(kSectorSize);
    std::memcpy(sector.data(), request.data(), request.size());
    store(sector.data() + 512, world_.random.next());
    std::vector<Slice> pieces{std::move(sector).freeze()};
    const std::uint64_t place = next_++ % 1024;
    const auto written =
        co_await disk_->write(place * kSectorSize, std::move(pieces), Durability::kDurable);
    co_return Slice::copy_of(written ? "ok" : written.error().message());
  }
  Task<void> sync_now_and_then() {
    while (!tasks_.closed()) {
      co_await sleep_for(world_.executor, 10ms);
      if (!co_await disk_->sync()) co_return;
      ++syncs_;
    }
  }
  Task<void> wait_for_mail() {
    while (!tasks_.closed()) co_await mailbox_.pop_until(Instant::never());
  }

  World world_;
  Mailbox<int> mailbox_;
  std::unique_ptr<Disk> disk_;
  std::uint64_t next_ = 0;
  int syncs_ = 0;
  TaskScope tasks_;
};

Task<void> client(World world, NodeId server, int calls, int& answered) {
  for (int i = 0; i < calls; ++i) {
    const Instant deadline = world.executor.now() + 50ms;
    const auto reply = co_await world.network.call(server, Slice::copy_of("put"), deadline);
    if (reply && reply->text() == "ok") ++answered;
    if (!reply && reply.error().code == Errc::kUnavailable) {
      co_await sleep_for(world.executor, 1ms);
    }
  }
}

struct Outcome {
  std::uint64_t hash;
  int answered;
  std::string faults;
};

// Two clients and one store under faults of all sorts, with two crashes of the store.
Outcome run_scenario(std::uint64_t seed, SimOptions options = {}) {
  options.network.loss.one_in = 20;
  options.network.duplicate.one_in = 20;
  SimWorld world(seed, options);
  SimNode& server = world.add_node();
  std::unique_ptr<Store> store;
  const auto start = [&] {
    store = std::make_unique<Store>(server.world());
    server.on_stop([&] { store->stop(); });
    server.on_crash([&] {
      EXPECT_TRUE(store->stopped());
      store.reset();
    });
    ASSERT_TRUE(world.run(store->start()));
  };
  start();
  server.disks().faults("log").write_error.one_in = 50;
  int answered = 0;
  for (int i = 0; i < 2; ++i) {
    spawn(client(world.add_node().world(), server.id(), 200, answered));
  }
  SeededRandom random = world.stream("scenario");
  for (int i = 0; i < 2; ++i) {
    world.run_for(Duration{random.below(50'000'000)});
    server.crash();
    EXPECT_EQ(store, nullptr);
    world.run_for(5ms);
    server.restart();
    start();
  }
  world.run_for(1min);
  world.shutdown();
  return {world.trace_hash(), answered, world.faults().to_string()};
}

TEST(SimWorld, TheSameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  std::map<std::uint64_t, std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome first = run_scenario(seed);
    const Outcome second = run_scenario(seed);
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_EQ(first.faults, second.faults);
    EXPECT_GT(first.answered, 0);
    EXPECT_TRUE(hashes.emplace(first.hash, seed).second);
  }
}

TEST(SimWorld, JitterGivesOtherTracesThatRepeatToo) {
  SimOptions options;
  options.jitter_max = 50ns;
  options.clock_skew_max = std::chrono::milliseconds(500);
  const Outcome plain = run_scenario(3);
  const Outcome jittered = run_scenario(3, options);
  EXPECT_NE(plain.hash, jittered.hash);
  EXPECT_EQ(jittered.hash, run_scenario(3, options).hash);
}

TEST(SimWorld, StreamsOfDifferentPurposesAreIndependent) {
  SimWorld world(5);
  EXPECT_EQ(world.stream("a").next(), world.stream("a").next());
  EXPECT_NE(world.stream("a").next(), world.stream("b").next());
  EXPECT_NE(world.stream("a", 1).next(), world.stream("a", 2).next());
  EXPECT_NE(world.stream("a").next(), SimWorld(6).stream("a").next());
}

Task<int> value_after(Executor& executor, Duration duration, int value) {
  co_await sleep_for(executor, duration);
  co_return value;
}

TEST(SimWorld, RunDrivesATaskToItsValue) {
  SimWorld world(1);
  EXPECT_EQ(world.run(value_after(world.executor(), 3s, 7)), 7);
  EXPECT_EQ(world.executor().now(), Instant{3s});
}

Task<void> wait_for(OneShot<int>& never) {
  co_await never;
}

TEST(SimWorldDeathTest, RunReportsATaskThatNothingCanEnd) {
  SimWorld world(77);
  OneShot<int> never;
  EXPECT_DEATH(world.run(wait_for(never)), "seed 77: no event is pending");
}

TEST(SimWorldDeathTest, RunReportsATaskThatTakesTooLong) {
  SimWorld world(77);
  EXPECT_DEATH(world.run(value_after(world.executor(), 3h, 7), 1h), "not done after");
}

TEST(SimNode, WallClocksFollowVirtualTimeAndJump) {
  SimWorld world(1);
  SimNode& node = world.add_node();
  const WallClock& clock = node.world().clock;
  const auto start = clock.since_epoch();
  EXPECT_EQ(start, SimClock::kEpoch);
  world.run_for(90s);
  EXPECT_EQ(clock.since_epoch() - start, 90s);
  node.clock().jump(-std::chrono::hours(1));
  EXPECT_EQ(clock.since_epoch() - start, 90s - 1h);
  EXPECT_EQ(world.faults()[FaultKind::kClockJump], 1U);
}

TEST(SimNode, EachLifeHasItsOwnRandomNumbers) {
  SimWorld world(1);
  SimNode& node = world.add_node();
  const std::uint64_t first = node.world().random.next();
  EXPECT_NE(first, world.add_node().world().random.next());
  node.crash();
  EXPECT_FALSE(node.alive());
  node.restart();
  EXPECT_EQ(node.restarts(), 1U);
  EXPECT_NE(first, node.world().random.next());
}

TEST(SimNode, ACrashEndsLoopsAndDestroysComponentsInOrder) {
  SimWorld world(1);
  SimNode& node = world.add_node();
  auto store = std::make_unique<Store>(node.world());
  std::vector<int> order;
  node.on_crash([&] { order.push_back(3); });
  node.on_crash([&] {
    EXPECT_TRUE(store->stopped());
    order.push_back(2);
    store.reset();
  });
  node.on_stop([&] {
    order.push_back(1);
    store->stop();
  });
  ASSERT_TRUE(world.run(store->start()));
  world.run_for(95ms);
  EXPECT_GT(store->syncs(), 5);
  const Instant before = world.executor().now();
  node.crash();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(world.executor().now(), before);
  EXPECT_EQ(world.faults()[FaultKind::kCrash], 1U);
}

Task<void> crash_own_node(SimNode& node, World world, std::vector<std::string>& story) {
  co_await sleep_for(world.executor, 1ms);
  node.crash();
  story.push_back(node.alive() ? "alive" : "dying");
  co_await sleep_for(world.executor, 1h);
  story.push_back("end");
}

TEST(SimNode, ACrashFromTheNodesOwnCodeIsCompletedByTheNextEventOfTheScenario) {
  SimWorld world(1);
  SimNode& node = world.add_node();
  std::vector<std::string> story;
  node.on_crash([&] { story.push_back("destroyed"); });
  spawn(crash_own_node(node, node.world(), story));
  world.run_for(1s);
  EXPECT_EQ(story, (std::vector<std::string>{"dying", "end", "destroyed"}));
  node.restart();
}

Task<void> crash_each_other(SimNode& left, SimNode& right) {
  World world = left.world();
  co_await sleep_for(world.executor, 1ms);
  co_await right.crash_and_wait();
  right.restart();
  co_await left.crash_and_wait();
  left.restart();
}

TEST(SimNode, ACoroutineCanCrashAndRestartNodes) {
  SimWorld world(1);
  SimNode& left = world.add_node();
  SimNode& right = world.add_node();
  world.run(crash_each_other(left, right));
  EXPECT_EQ(left.restarts() + right.restarts(), 2U);
}

TEST(FaultCounters, AddUpAndPrintWhatWasMet) {
  FaultCounters one;
  EXPECT_EQ(one.to_string(), "none");
  one.add(FaultKind::kCrash, 2);
  FaultCounters two;
  two.add(FaultKind::kReadError);
  two += one;
  EXPECT_EQ(two.to_string(), "read_error 1, crash 2");
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    EXPECT_NE(to_string(static_cast<FaultKind>(i)), "unknown");
  }
}

}  // namespace
}  // namespace moraine
