#include "blob/endpoint/local_endpoint.h"

#include <gtest/gtest.h>

#include "blob/endpoint/fake_disk.h"
#include "io/real/lane.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

const DiskAddress kAddress{NodeId{1}, 3, 7};

class LocalEndpointTest : public ::testing::Test {
 protected:
  LocalEndpointTest()
      : node(world.add_node()),
        disk(std::make_shared<FakeDisk>(node.world().executor)),
        endpoint(services, kAddress, node.world().executor) {
    services.add(kAddress, disk);
  }

  Instant in(Duration duration) { return world.executor().now() + duration; }
  DiskReply put(std::string_view data, Instant deadline = Instant::never()) {
    return world.run(endpoint.call(put_request(data), deadline));
  }

  SimWorld world{1};
  SimNode& node;
  DiskServices services;
  std::shared_ptr<FakeDisk> disk;
  LocalEndpoint endpoint;
};

TEST_F(LocalEndpointTest, GivesTheReplyOfTheServiceAndDoesNotCopyTheData) {
  DiskRequest request = put_request("some data");
  const std::byte* const place = std::get<PutPart>(request.body).data.joined().data();
  const DiskReply reply = world.run(endpoint.call(std::move(request), Instant::never()));
  EXPECT_EQ(reply.status, Status::kOk);
  EXPECT_EQ(reply.incarnation, 42u);
  EXPECT_TRUE(std::holds_alternative<PutPartReply>(reply.body));
  EXPECT_EQ(disk->last_put.data(), place);
}

TEST_F(LocalEndpointTest, AddressesWhereNothingRunsAnswerAnError) {
  LocalEndpoint elsewhere(services, {NodeId{1}, 3, 8}, node.world().executor);
  DiskReply reply = world.run(elsewhere.call(put_request("x"), Instant::never()));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_EQ(reply.reason, "node 1 device 3 slot 8: not running");

  services.remove(kAddress);
  reply = put("x");
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_EQ(reply.reason, "node 1 device 3 slot 7: not running");
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(LocalEndpointTest, ADestroyedServiceIsNotRunningAndCanBeReplaced) {
  disk.reset();
  EXPECT_EQ(put("x").status, Status::kError);
  disk = std::make_shared<FakeDisk>(node.world().executor);
  services.add(kAddress, disk);
  EXPECT_EQ(put("x").status, Status::kOk);
}

TEST_F(LocalEndpointTest, TheDeadlineAnswersFirstAndTheAbandonedCallEndsByItself) {
  disk->delay = 100ms;
  const DiskReply reply = put("x", in(30ms));
  EXPECT_EQ(reply.status, Status::kDeadline);
  EXPECT_EQ(world.executor().now(), Instant{30ms});
  EXPECT_EQ(disk->handled, 0);
  world.run_for(1s);
  EXPECT_EQ(disk->handled, 1);
}

TEST_F(LocalEndpointTest, AReplyBeforeTheDeadlineLeavesNoTimerBehind) {
  disk->delay = 10ms;
  EXPECT_EQ(put("x", in(30ms)).status, Status::kOk);
  EXPECT_EQ(world.executor().now(), Instant{10ms});
  EXPECT_TRUE(world.executor().run_until_idle());
  EXPECT_EQ(world.executor().now(), Instant{10ms});
}

TEST_F(LocalEndpointTest, ADeadlineThatHasPassedIsNotSentToTheService) {
  world.run_for(1s);
  EXPECT_EQ(put("x", Instant{1s}).status, Status::kDeadline);
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(LocalEndpointTest, ACallUnderWayKeepsItsServiceAlive) {
  std::optional<bool> destroyed;
  disk->destroyed = &destroyed;
  disk->delay = 10ms;
  std::optional<DiskReply> reply;
  const auto ask = [](LocalEndpoint& to, std::optional<DiskReply>& result) -> Task<void> {
    result = co_await to.call(put_request("x"), Instant::never());
  };
  spawn(ask(endpoint, reply));
  services.remove(kAddress);
  disk.reset();
  EXPECT_FALSE(destroyed);
  world.run_for(1s);
  EXPECT_TRUE(destroyed);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, Status::kOk);
}

TEST_F(LocalEndpointTest, TheEndpointMayBeDestroyedBeforeItsCall) {
  disk->delay = 10ms;
  auto brief = std::make_unique<LocalEndpoint>(services, kAddress, node.world().executor);
  Task<DiskReply> call = brief->call(put_request("x"), in(1s));
  brief.reset();
  EXPECT_EQ(world.run(std::move(call)).status, Status::kOk);
}

TEST_F(LocalEndpointTest, CallsPastTheBoundAreRefusedUntilOthersEnd) {
  disk->delay = 10ms;
  int ok = 0;
  int refused = 0;
  const auto ask = [](LocalEndpoint& to, int& done, int& not_done) -> Task<void> {
    const DiskReply reply = co_await to.call(get_request(0), Instant::never());
    ++(reply.status == Status::kOk ? done : not_done);
  };
  for (std::size_t i = 0; i < kServiceCallsMax + 3; ++i) spawn(ask(endpoint, ok, refused));
  EXPECT_EQ(refused, 3);
  world.run_for(1s);
  EXPECT_EQ(ok, static_cast<int>(kServiceCallsMax));
  EXPECT_EQ(put("x").status, Status::kOk);
}

TEST_F(LocalEndpointTest, CallsOfANodeThatCrashesEnd) {
  disk->delay = 1s;
  std::optional<DiskReply> reply;
  const auto ask = [](LocalEndpoint& to, std::optional<DiskReply>& result) -> Task<void> {
    result = co_await to.call(put_request("x"), Instant::never());
  };
  spawn(ask(endpoint, reply));
  node.crash();
  EXPECT_TRUE(reply);
}

// Whether the reply has the status and came to the caller's thread.
Task<bool> put_from(Lane& home, LocalEndpoint& endpoint, Instant deadline, Status expected) {
  const DiskReply reply = co_await endpoint.call(put_request("x"), deadline);
  co_return reply.status == expected&& home.on_this_thread();
}

TEST(LocalEndpointOnLanes, TheServiceRunsOnItsOwnThreadAndTheReplyComesBackToTheCallers) {
  Lane home;
  Lane other;
  auto disk = std::make_shared<FakeDisk>(other);
  DiskServices services;
  services.add(kAddress, disk);
  LocalEndpoint endpoint(services, kAddress, home);
  other.start();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(home.run(put_from(home, endpoint, Instant::never(), Status::kOk)));
  }
  other.stop();
  EXPECT_TRUE(disk->on_own_thread);
  EXPECT_EQ(disk->handled, 100);
}

TEST(LocalEndpointOnLanes, AnAbandonedCallEndsAfterTheDeadlineAndMayHoldTheLastReference) {
  std::optional<bool> destroyed_on_own_thread;
  Lane home;
  Lane other;
  OneShot<bool> gate;
  auto disk = std::make_shared<FakeDisk>(other);
  disk->gate = &gate;
  disk->destroyed = &destroyed_on_own_thread;
  auto second = std::make_shared<FakeDisk>(other);
  const DiskAddress second_address{NodeId{1}, 3, 8};
  DiskServices services;
  services.add(kAddress, disk);
  services.add(second_address, second);
  LocalEndpoint endpoint(services, kAddress, home);
  LocalEndpoint second_endpoint(services, second_address, home);
  other.start();
  const Instant soon = home.now() + 1ms;
  EXPECT_TRUE(home.run(put_from(home, endpoint, soon, Status::kDeadline)));
  // A later call that has returned shows that the first has reached the other lane.
  EXPECT_TRUE(home.run(put_from(home, second_endpoint, Instant::never(), Status::kOk)));
  disk.reset();
  other.post([&gate] { gate.set(true); });
  // The abandoned call returns to this lane before the reply of a later one.
  EXPECT_TRUE(home.run(put_from(home, second_endpoint, Instant::never(), Status::kOk)));
  other.stop();
  EXPECT_EQ(destroyed_on_own_thread, true);
}

}  // namespace
}  // namespace moraine::blob
