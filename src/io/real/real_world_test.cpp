#include "io/real/real_world.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "io/real/signals.h"
#include "io/sync.h"

namespace moraine {
namespace {

Task<Slice> echo(NodeId, Slice request) {
  co_return request;
}

Task<Result<Slice>> call_self(World world) {
  world.network.serve(echo);
  const Instant deadline = world.executor.now() + 10s;
  co_return co_await world.network.call(world.network.self(), Slice::copy_of("hi"), deadline);
}

TEST(RealWorld, OneProgramCanCallItself) {
  RealWorld real;
  const Result<Slice> reply = real.run(call_self(real.world()));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->text(), "hi");
}

TEST(RealWorld, TheWallClockIsThatOfTheSystem) {
  RealWorld real;
  const auto year_2020 = std::chrono::milliseconds(1'577'836'800'000);
  EXPECT_GT(real.world().clock.since_epoch(), year_2020);
}

TEST(OsRandom, DoesNotRepeatItself) {
  OsRandom random;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < 10 * kOsRandomBatch; ++i) seen.insert(random.next());
  EXPECT_EQ(seen.size(), 10 * kOsRandomBatch);
}

TEST(Signals, ComeAsCallbacksOnTheLane) {
  for (const IoMode mode : {IoMode::kAuto, IoMode::kThreads}) {
    Lane lane({.name = "test", .io = mode, .cpu = std::nullopt});
    lane.schedule(lane.now(), [] { raise(SIGTERM); });
    EXPECT_EQ(lane.run(wait_for_signal(lane, {SIGINT, SIGTERM})), SIGTERM);
  }
}

TEST(Signals, AreGivenBackAsTheyWere) {
  struct sigaction before{};
  sigaction(SIGUSR1, nullptr, &before);
  Lane lane;
  {
    const SignalWatch watch(lane, {SIGUSR1}, [](int) {});
    struct sigaction during{};
    sigaction(SIGUSR1, nullptr, &during);
    EXPECT_NE(during.sa_handler, before.sa_handler);
  }
  struct sigaction after{};
  sigaction(SIGUSR1, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace moraine
