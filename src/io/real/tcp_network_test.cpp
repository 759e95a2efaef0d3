#include "io/real/tcp_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "io/real/lane.h"
#include "io/real/tcp_peer.h"
#include "io/real/tcp_server.h"
#include "io/sync.h"

namespace moraine {
namespace {

constexpr NodeId kFirst{1};
constexpr NodeId kSecond{2};
const TcpAddress kAnyPort{"127.0.0.1", 0};

Task<Slice> echo(NodeId from, Slice request) {
  if (request.text() == "who") co_return Slice::copy_of(std::to_string(from.value));
  co_return request;
}

Task<void> rest(Lane& lane) {
  co_await sleep_for(lane, kBackoffMin);
}

// Requests wait here until open().
struct Gate {
  Task<Slice> pass(Slice request) {
    ++arrived;
    co_await permits.acquire();
    permits.release();
    co_return request;
  }
  void open() { permits.release(); }
  RequestHandler handler() {
    return [this](NodeId, Slice request) { return pass(std::move(request)); };
  }
  explicit Gate(Executor& executor) : permits(executor, 0) {}
  Semaphore permits;
  std::size_t arrived = 0;
};

// Two nodes on one lane.
class TcpNetworkTest : public testing::TestWithParam<IoMode> {
 protected:
  TcpNetworkTest() : lane_({.name = "test", .io = GetParam(), .cpu = std::nullopt}) {
    first_ = make(kFirst, "north");
    second_ = make(kSecond, "north");
    EXPECT_TRUE(second_->listen(kAnyPort));
    first_->set_peer(kSecond, {"127.0.0.1", second_->port()});
  }
  ~TcpNetworkTest() override {
    lane_.run(first_->stop());
    if (second_) lane_.run(second_->stop());
  }

  std::unique_ptr<TcpNetwork> make(NodeId self, std::string cluster) {
    TcpNetworkOptions options;
    options.self = self;
    options.cluster = std::move(cluster);
    return std::make_unique<TcpNetwork>(lane_, std::move(options));
  }
  Result<Slice> call(std::string_view text, Duration patience = 60s) {
    return lane_.run(first_->call(kSecond, Slice::copy_of(text), lane_.now() + patience));
  }

  ScopedLogCapture log_;
  Lane lane_;
  std::unique_ptr<TcpNetwork> first_;
  std::unique_ptr<TcpNetwork> second_;
};

INSTANTIATE_TEST_SUITE_P(Modes, TcpNetworkTest, testing::Values(IoMode::kAuto, IoMode::kThreads),
                         [](const auto& info) {
                           return info.param == IoMode::kAuto ? "Auto" : "Threads";
                         });

TEST_P(TcpNetworkTest, ACallGivesTheReplyOfThePeer) {
  second_->serve(echo);
  for (const std::string_view text : {"hello", "", "again"}) {
    const Result<Slice> reply = call(text);
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->text(), text);
  }
  EXPECT_EQ(call("who")->text(), "1");
}

TEST_P(TcpNetworkTest, HostNamesAreResolved) {
  second_->serve(echo);
  first_->set_peer(kSecond, {"localhost", second_->port()});
  // The name may resolve to ::1 first, where nothing listens; the second attempt uses another one.
  Result<Slice> reply = call("hello");
  for (int attempt = 0; attempt < 20 && !reply; ++attempt) {
    lane_.run(rest(lane_));
    reply = call("hello");
  }
  EXPECT_TRUE(reply) << reply.error().message();
}

TEST_P(TcpNetworkTest, CallsToSelfGoToTheHandler) {
  first_->serve(echo);
  const Result<Slice> reply =
      lane_.run(first_->call(kFirst, Slice::copy_of("who"), lane_.now() + 60s));
  EXPECT_EQ(reply->text(), "1");
}

TEST_P(TcpNetworkTest, ACallToSelfEndsAtItsDeadline) {
  Gate gate(lane_);
  first_->serve(gate.handler());
  const Result<Slice> reply =
      lane_.run(first_->call(kFirst, Slice::copy_of("x"), lane_.now() + 5ms));
  EXPECT_EQ(reply.error().code, Errc::kTimeout);
  gate.open();
  lane_.run(rest(lane_));
}

TEST_P(TcpNetworkTest, LargePayloadsArriveWhole) {
  second_->serve(echo);
  std::string large(kFrameBytesMax, 'x');
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>(i / 1000);
  const Result<Slice> reply = call(large);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_TRUE(reply->text() == large);
  EXPECT_EQ(call(large + "y").error().code, Errc::kInvalidArgument);
}

TEST_P(TcpNetworkTest, AReplyThatIsTooLargeIsRefusedByName) {
  second_->serve(
      [](NodeId, Slice) -> Task<Slice> { co_return Buffer::zeroed(kFrameBytesMax + 1).freeze(); });
  EXPECT_EQ(call("x").error().code, Errc::kInvalidArgument);
}

TEST_P(TcpNetworkTest, ANodeWithoutHandlerRefuses) {
  EXPECT_EQ(call("x").error().code, Errc::kUnavailable);
  EXPECT_EQ(lane_.run(first_->call(kFirst, Slice(), Instant::never())).error().code,
            Errc::kUnavailable);
}

TEST_P(TcpNetworkTest, AHandlerCanBeReplacedAndTakenAway) {
  second_->serve(echo);
  EXPECT_TRUE(call("x"));
  second_->serve([](NodeId, Slice) -> Task<Slice> { co_return Slice::copy_of("other"); });
  EXPECT_EQ(call("x")->text(), "other");
  second_->serve(nullptr);
  EXPECT_EQ(call("x").error().code, Errc::kUnavailable);
}

TEST_P(TcpNetworkTest, AnUnknownNodeIsAWrongArgument) {
  EXPECT_EQ(lane_.run(first_->call(NodeId{77}, Slice(), Instant::never())).error().code,
            Errc::kInvalidArgument);
}

TEST_P(TcpNetworkTest, ACallWithoutReplyEndsAtItsDeadlineAndItsLateReplyIsDropped) {
  Gate gate(lane_);
  second_->serve(gate.handler());
  EXPECT_EQ(call("late", 20ms).error().code, Errc::kTimeout);
  EXPECT_EQ(call("x", 0ms).error().code, Errc::kTimeout);
  gate.open();
  EXPECT_EQ(call("next")->text(), "next");
}

TEST_P(TcpNetworkTest, AnotherClusterIsRefusedWithAReason) {
  const std::uint16_t port = second_->port();
  auto stranger = make(NodeId{3}, "south");
  stranger->set_peer(kSecond, {"127.0.0.1", port});
  const auto reply = lane_.run(stranger->call(kSecond, Slice(), lane_.now() + 60s));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::kUnavailable);
  EXPECT_NE(reply.error().context.find("cluster 'south'"), std::string::npos)
      << reply.error().message();
  EXPECT_TRUE(std::ranges::any_of(log_.lines(), [](const std::string& line) {
    return line.contains("connection refused") && line.contains("south") &&
           line.contains("peer=127.0.0.1:");
  }));
}

TEST_P(TcpNetworkTest, AWrongNodeBehindAnAddressIsRefusedWithAReason) {
  first_->set_peer(NodeId{9}, {"127.0.0.1", second_->port()});
  const auto reply = lane_.run(first_->call(NodeId{9}, Slice(), lane_.now() + 60s));
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().context.find("looks for node 9"), std::string::npos);
}

TEST_P(TcpNetworkTest, ACallToAClosedPortFailsAndThenWaitsOutTheBackoff) {
  const std::uint16_t port = second_->port();
  lane_.run(second_->stop());
  second_.reset();
  first_->set_peer(NodeId{5}, {"127.0.0.1", port});
  for (int i = 0; i < 2; ++i) {
    const auto reply = lane_.run(first_->call(NodeId{5}, Slice(), lane_.now() + 60s));
    EXPECT_EQ(reply.error().code, Errc::kUnavailable);
    EXPECT_NE(reply.error().context.find("refused"), std::string::npos) << reply.error().message();
  }
}

Task<void> stop_when_called(TcpNetwork& network, Lane& lane, Gate& gate) {
  while (gate.arrived == 0) co_await yield(lane);
  spawn(network.stop());
}

Task<Result<Slice>> call_while(Task<void> other, Task<Result<Slice>> call) {
  TaskScope scope;
  scope.spawn(std::move(other));
  Result<Slice> reply = co_await std::move(call);
  co_await scope.join();
  co_return reply;
}

TEST_P(TcpNetworkTest, CallsInFlightFailWhenThePeerStopsAndSucceedAfterItsRestart) {
  Gate gate(lane_);
  second_->serve(gate.handler());
  const std::uint16_t port = second_->port();
  Task<Result<Slice>> pending = first_->call(kSecond, Slice::copy_of("x"), lane_.now() + 60s);
  const Result<Slice> reply =
      lane_.run(call_while(stop_when_called(*second_, lane_, gate), std::move(pending)));
  EXPECT_EQ(reply.error().code, Errc::kUnavailable);
  gate.open();
  lane_.run(rest(lane_));
  second_.reset();
  EXPECT_EQ(call("down").error().code, Errc::kUnavailable);

  second_ = make(kSecond, "north");
  ASSERT_TRUE(second_->listen({"127.0.0.1", port}));
  second_->serve(echo);
  Result<Slice> again = call("up");
  while (!again) again = call("up");
  EXPECT_EQ(again->text(), "up");
}

struct Tally {
  std::size_t good = 0;
  std::size_t overloaded = 0;
  std::size_t other = 0;
};

Task<void> count_call(TcpNetwork& network, Slice request, Tally& tally) {
  const Result<Slice> reply = co_await network.call(kSecond, std::move(request), Instant::never());
  if (reply) {
    ++tally.good;
  } else if (reply.error().code == Errc::kOverloaded) {
    ++tally.overloaded;
  } else {
    ++tally.other;
  }
}

Task<void> call_many(TcpNetwork& network, Slice request, std::size_t count, Gate& gate,
                     std::size_t arrive, Lane& lane, Tally& tally) {
  TaskScope scope;
  for (std::size_t i = 0; i < count; ++i) scope.spawn(count_call(network, request, tally));
  while (gate.arrived < arrive) co_await sleep_for(lane, 1ms);
  // Anything else that could be read would have been read by now.
  for (int i = 0; i < 20; ++i) co_await sleep_for(lane, 1ms);
  EXPECT_EQ(gate.arrived, arrive);
  gate.open();
  co_await scope.join();
}

TEST_P(TcpNetworkTest, CallsPastTheBoundAreOverloadedAndTheServerReadsOnlyWhatItServes) {
  Gate gate(lane_);
  second_->serve(gate.handler());
  Tally tally;
  lane_.run(call_many(*first_, Slice::copy_of("x"), kCallsInFlightMax + 10, gate,
                      kServedRequestsMax, lane_, tally));
  EXPECT_EQ(tally.good, kCallsInFlightMax);
  EXPECT_EQ(tally.overloaded, 10U);
  EXPECT_EQ(tally.other, 0U);
  EXPECT_EQ(call("after")->text(), "after");
}

TEST_P(TcpNetworkTest, BytesPastTheBoundAreOverloaded) {
  Gate gate(lane_);
  second_->serve(gate.handler());
  Tally tally;
  const std::size_t fit = kBytesInFlightMax / kFrameBytesMax;
  lane_.run(call_many(*first_, Buffer::zeroed(kFrameBytesMax).freeze(), fit + 2, gate, fit, lane_,
                      tally));
  EXPECT_EQ(tally.good, fit);
  EXPECT_EQ(tally.overloaded, 2U);
}

std::size_t count_lines(const ScopedLogCapture& log, std::string_view part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      log.lines(), [part](const std::string& line) { return line.contains(part); }));
}

TEST_P(TcpNetworkTest, APeerThatGoesDownAndComesBackIsLoggedOnceForEachChange) {
  EXPECT_FALSE(first_->peers().at(kSecond).called);
  second_->serve(echo);
  EXPECT_EQ(call("x")->text(), "x");
  EXPECT_TRUE(first_->peers().at(kSecond).up);
  EXPECT_EQ(count_lines(log_, "peer up"), 1u);
  const std::uint16_t port = second_->port();
  lane_.run(second_->stop());
  second_.reset();
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(call("x"));
    lane_.run(rest(lane_));
  }
  const PeerState down = first_->peers().at(kSecond);
  EXPECT_TRUE(down.called);
  EXPECT_FALSE(down.up);
  EXPECT_TRUE(down.down_since);
  EXPECT_FALSE(down.reason.empty());
  EXPECT_EQ(count_lines(log_, "peer down"), 1u);

  second_ = make(kSecond, "north");
  ASSERT_TRUE(second_->listen({"127.0.0.1", port}));
  second_->serve(echo);
  while (!call("x")) lane_.run(rest(lane_));
  EXPECT_FALSE(first_->peers().at(kSecond).down_since);
  EXPECT_EQ(count_lines(log_, "peer up"), 2u);
  EXPECT_EQ(count_lines(log_, "peer down"), 1u);
  lane_.run(first_->stop());
  EXPECT_EQ(count_lines(log_, "peer down"), 1u)
      << "stopping this node does not mean that the peer is down";
}

TEST_P(TcpNetworkTest, ACommandThatEndsLeavesNoLineInTheLogOfTheNode) {
  second_->serve(echo);
  auto command = make(NodeId{0}, "north");
  command->set_peer(kSecond, {"127.0.0.1", second_->port()});
  ASSERT_TRUE(lane_.run(command->call(kSecond, Slice::copy_of("x"), lane_.now() + 60s)));
  const std::size_t before = log_.lines().size();
  lane_.run(command->stop());
  command.reset();
  EXPECT_EQ(call("x")->text(), "x") << "the node has noticed the end by now";
  EXPECT_EQ(count_lines(log_, "peer=0"), 0u);
  EXPECT_EQ(log_.lines().size(), before + 1) << "only that the first node came";
}

TEST_P(TcpNetworkTest, AStoppedNetworkFailsCalls) {
  lane_.run(first_->stop());
  EXPECT_EQ(call("x").error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace moraine
