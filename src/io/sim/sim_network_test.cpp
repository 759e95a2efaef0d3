#include "io/sim/sim_network.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/sim/sim_world.h"
#include "io/sync.h"

namespace moraine {
namespace {

// Replies "node:text" to "text" and counts what it served.
struct Echo {
  explicit Echo(SimNode& node) : world(node.world()) {
    world.network.serve(
        [this](NodeId from, Slice request) { return serve(from, std::move(request)); });
  }
  Task<Slice> serve(NodeId from, Slice request) {
    ++served;
    last_from = from;
    if (delay > Duration{0}) co_await sleep_for(world.executor, delay);
    co_return Slice::copy_of(fmt::format("{}:{}", world.network.self().value, request.text()));
  }
  World world;
  Duration delay{0};
  int served = 0;
  NodeId last_from;
};

class SimNetworkTest : public ::testing::Test {
 protected:
  SimNetworkTest() : a(world.add_node()), b(world.add_node()), echo(b) {}

  Result<Slice> call(std::string text, Duration patience = 1s) {
    return world.run(
        a.world().network.call(b.id(), Slice::copy_of(text), world.executor().now() + patience));
  }
  std::uint64_t met(FaultKind kind) { return world.faults()[kind]; }

  SimWorld world{1};
  SimNode& a;
  SimNode& b;
  Echo echo;
};

TEST_F(SimNetworkTest, ACallGivesThePeersReply) {
  EXPECT_EQ(call("hi").value().text(), "2:hi");
  EXPECT_EQ(echo.last_from, a.id());
  EXPECT_GE(world.executor().now(), Instant{40us});
  EXPECT_EQ(world.network().calls_in_flight(), 0U);
}

TEST_F(SimNetworkTest, ANodeCanCallItselfWhateverTheNetworkDoes) {
  world.network().everywhere().loss.one_in = 1;
  world.network().isolate(b.id());
  const Instant deadline = world.executor().now() + 1s;
  const auto reply = world.run(b.world().network.call(b.id(), Slice::copy_of("me"), deadline));
  EXPECT_EQ(reply.value().text(), "2:me");
}

TEST_F(SimNetworkTest, ANodeThatDoesNotServeRefuses) {
  const Instant deadline = world.executor().now() + 1s;
  const auto reply = world.run(b.world().network.call(a.id(), Slice::copy_of("x"), deadline));
  EXPECT_EQ(reply.error().code, Errc::kUnavailable);
  EXPECT_LT(world.executor().now(), Instant{10ms});
}

TEST_F(SimNetworkTest, ALostMessageEndsAtTheDeadlineExactly) {
  world.network().link(a.id(), b.id()).loss.next = 1;
  EXPECT_EQ(call("x", 30ms).error().code, Errc::kTimeout);
  EXPECT_EQ(world.executor().now(), Instant{30ms});
  EXPECT_EQ(echo.served, 0);
  world.network().link(b.id(), a.id()).loss.next = 1;
  EXPECT_EQ(call("x", 30ms).error().code, Errc::kTimeout);
  EXPECT_EQ(echo.served, 1);
  EXPECT_EQ(met(FaultKind::kMessageLost), 2U);
  EXPECT_EQ(met(FaultKind::kCallTimeout), 2U);
}

TEST_F(SimNetworkTest, ALateReplyIsIgnored) {
  echo.delay = 100ms;
  EXPECT_EQ(call("x", 50ms).error().code, Errc::kTimeout);
  world.run_for(1s);
  EXPECT_EQ(echo.served, 1);
  EXPECT_EQ(world.network().calls_in_flight(), 0U);
}

TEST_F(SimNetworkTest, ADuplicateIsServedTwiceAndAnsweredOnce) {
  world.network().link(a.id(), b.id()).duplicate.next = 1;
  EXPECT_EQ(call("x").value().text(), "2:x");
  world.run_for(1s);
  EXPECT_EQ(echo.served, 2);
  EXPECT_EQ(met(FaultKind::kMessageDuplicated), 1U);
}

TEST_F(SimNetworkTest, ADelayedMessageArrivesLater) {
  LinkFaults& link = world.network().link(a.id(), b.id());
  link.delay.one_in = 1;
  link.delay_max = 10s;
  EXPECT_TRUE(call("x", 20s));
  EXPECT_GT(world.executor().now(), Instant{1ms});
  EXPECT_EQ(met(FaultKind::kMessageDelayed), 1U);
  world.network().reset_link(a.id(), b.id());
  EXPECT_TRUE(call("x", 10ms));
}

Task<void> call_into(Network& network, NodeId to, Slice request, Instant deadline,
                     std::vector<Result<Slice>>& replies) {
  replies.push_back(co_await network.call(to, std::move(request), deadline));
}

TEST_F(SimNetworkTest, RequestsOvertakeEachOtherUnlessTheLinkIsOrdered) {
  for (const bool ordered : {false, true}) {
    world.network().everywhere().ordered = ordered;
    std::vector<Result<Slice>> replies;
    const std::uint64_t before = met(FaultKind::kMessageReordered);
    for (int i = 0; i < 50; ++i) {
      spawn(call_into(a.world().network, b.id(), Slice::copy_of("x"), Instant::never(), replies));
    }
    world.run_for(1s);
    EXPECT_EQ(replies.size(), 50U);
    EXPECT_EQ(met(FaultKind::kMessageReordered) > before, !ordered);
  }
}

TEST_F(SimNetworkTest, AOneWayPartitionLosesOneDirection) {
  world.network().block(b.id(), a.id());
  EXPECT_EQ(call("x", 10ms).error().code, Errc::kTimeout);
  EXPECT_EQ(echo.served, 1);
  world.network().unblock(b.id(), a.id());
  EXPECT_TRUE(call("x", 10ms));
}

TEST_F(SimNetworkTest, APartitionLosesMessagesInFlightAndEndsByHeal) {
  std::vector<Result<Slice>> replies;
  spawn(call_into(a.world().network, b.id(), Slice::copy_of("x"), {10ms}, replies));
  world.network().partition({a.id()}, {b.id()});
  world.run_for(20ms);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].error().code, Errc::kTimeout);
  EXPECT_EQ(echo.served, 0);
  EXPECT_EQ(call("x", 10ms).error().code, Errc::kTimeout);
  EXPECT_EQ(met(FaultKind::kMessagePartitioned), 2U);
  world.network().heal();
  EXPECT_TRUE(call("x", 10ms));
}

TEST_F(SimNetworkTest, AClogHoldsMessagesUntilItEnds) {
  std::vector<Result<Slice>> replies;
  world.network().clog(a.id(), b.id());
  spawn(call_into(a.world().network, b.id(), Slice::copy_of("x"), {10s}, replies));
  world.run_for(5s);
  EXPECT_EQ(echo.served, 0);
  world.network().heal();
  world.run_for(1ms);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0]);
  EXPECT_EQ(met(FaultKind::kMessageClogged), 1U);
}

TEST_F(SimNetworkTest, CallsPastTheBoundsAreOverloaded) {
  std::vector<Result<Slice>> replies;
  for (std::size_t i = 0; i < kCallsInFlightMax; ++i) {
    spawn(call_into(a.world().network, b.id(), Slice::copy_of("x"), {10s}, replies));
  }
  EXPECT_EQ(call("x").error().code, Errc::kOverloaded);
  world.run_for(1s);
  EXPECT_EQ(replies.size(), kCallsInFlightMax);
  EXPECT_TRUE(call("x"));

  const Slice large = std::move(Buffer::zeroed(kFrameBytesMax)).freeze();
  for (std::size_t i = 0; i < kBytesInFlightMax / kFrameBytesMax; ++i) {
    spawn(call_into(a.world().network, b.id(), large, {10s}, replies));
  }
  EXPECT_EQ(call("x").error().code, Errc::kOverloaded);
  world.network().isolate(a.id());
  world.run_for(10s);
  world.network().heal();
  EXPECT_TRUE(call("x"));
  const Slice larger = std::move(Buffer::zeroed(kFrameBytesMax + 1)).freeze();
  const auto refused = world.run(a.world().network.call(b.id(), larger, Instant::never()));
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
}

TEST_F(SimNetworkTest, CallsToACrashedNodeEndAtOnceOrAtTheirDeadlines) {
  echo.delay = 10s;
  std::vector<Result<Slice>> replies;
  for (int i = 0; i < 40; ++i) {
    spawn(call_into(a.world().network, b.id(), Slice::copy_of("x"), {1s}, replies));
  }
  world.run_for(1ms);
  b.crash();
  world.run_for(1ms);
  const std::size_t at_once = replies.size();
  EXPECT_GT(at_once, 0U);
  EXPECT_LT(at_once, 40U);
  world.run_for(1s);
  ASSERT_EQ(replies.size(), 40U);
  EXPECT_EQ(replies.front().error().code, Errc::kUnavailable);
  EXPECT_EQ(replies.back().error().code, Errc::kTimeout);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(call("x", 1ms));
  EXPECT_EQ(echo.served, 40);
  b.restart();
  Echo again(b);
  EXPECT_TRUE(call("x", 1s));
}

TEST_F(SimNetworkTest, CallsOfACrashedNodeEndAsUnavailableAndSendNothingMore) {
  echo.delay = 1s;
  std::vector<Result<Slice>> replies;
  World old = a.world();
  spawn(call_into(old.network, b.id(), Slice::copy_of("x"), {10s}, replies));
  world.run_for(1ms);
  a.crash();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].error().code, Errc::kUnavailable);
  a.restart();
  spawn(call_into(old.network, b.id(), Slice::copy_of("x"), {10s}, replies));
  world.run_for(10s);
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[1].error().code, Errc::kUnavailable);
  EXPECT_EQ(echo.served, 1);
}

TEST_F(SimNetworkTest, APausedNodeServesAfterItResumes) {
  b.pause();
  EXPECT_EQ(call("x", 10ms).error().code, Errc::kTimeout);
  EXPECT_EQ(echo.served, 0);
  b.resume();
  world.run_for(1ms);
  EXPECT_EQ(echo.served, 1);
  EXPECT_TRUE(call("y"));
  EXPECT_EQ(met(FaultKind::kPause), 1U);
}

}  // namespace
}  // namespace moraine
