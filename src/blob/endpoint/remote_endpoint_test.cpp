#include "blob/endpoint/remote_endpoint.h"

#include <gtest/gtest.h>

#include "blob/endpoint/envelope.h"
#include "blob/endpoint/fake_disk.h"
#include "blob/endpoint/node_service.h"
#include "blob/protocol_codec.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

// Node `a` asks, node `b` has the disk.
class RemoteEndpointTest : public ::testing::Test {
 protected:
  RemoteEndpointTest()
      : a(world.add_node()),
        b(world.add_node()),
        address{b.id(), 3, 7},
        disk(std::make_shared<FakeDisk>(b.world().executor)),
        service(
            std::make_unique<NodeService>(b.world().network, b.world().executor, services_of_b)),
        endpoint(a.world().network, address) {
    services_of_b.add(address, disk);
  }

  DiskReply ask(DiskRequest request, Duration patience = 1s) {
    return world.run(endpoint.call(std::move(request), world.executor().now() + patience));
  }
  // What node b answers to these bytes.
  DiskReply raw(Slice frame) {
    const Instant deadline = world.executor().now() + 1s;
    const auto answer = world.run(a.world().network.call(b.id(), std::move(frame), deadline));
    EXPECT_TRUE(answer);
    return decode_reply(open_envelope(*answer).value().content).value();
  }

  SimWorld world{1};
  SimNode& a;
  SimNode& b;
  const DiskAddress address;
  DiskServices services_of_b;
  std::shared_ptr<FakeDisk> disk;
  std::unique_ptr<NodeService> service;
  RemoteEndpoint endpoint;
};

TEST_F(RemoteEndpointTest, AsksTheDiskOfTheOtherNode) {
  DiskReply reply = ask(put_request("some data"));
  EXPECT_EQ(reply.status, Status::kOk) << reply.reason;
  EXPECT_EQ(reply.incarnation, 42u);
  EXPECT_EQ(disk->last_put.text(), "some data");
  reply = ask(get_request(2));
  ASSERT_EQ(reply.status, Status::kOk) << reply.reason;
  const auto& answers = std::get<GetPartsReply>(reply.body).answers;
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].data.text(), "part");
}

TEST_F(RemoteEndpointTest, TheRequestGoesToTheDiskOfItsAddressOnly) {
  const DiskAddress neighbour{b.id(), 3, 8};
  auto other = std::make_shared<FakeDisk>(b.world().executor);
  services_of_b.add(neighbour, other);
  RemoteEndpoint to_other(a.world().network, neighbour);
  const Instant deadline = world.executor().now() + 1s;
  EXPECT_EQ(world.run(to_other.call(put_request("x"), deadline)).status, Status::kOk);
  EXPECT_EQ(other->handled, 1);
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(RemoteEndpointTest, SilenceBecomesDeadline) {
  disk->delay = 1h;
  const DiskReply reply = ask(put_request("x"), 30ms);
  EXPECT_EQ(reply.status, Status::kDeadline);
  EXPECT_EQ(reply.reason.find("node 2 device 3 slot 7: timeout"), 0u) << reply.reason;
  EXPECT_EQ(world.executor().now(), Instant{30ms});
  world.run_for(2h);
}

TEST_F(RemoteEndpointTest, ANodeThatIsNotThereBecomesAnError) {
  RemoteEndpoint nowhere(a.world().network, {NodeId{9}, 1, 0});
  const Instant deadline = world.executor().now() + 1s;
  const DiskReply reply = world.run(nowhere.call(put_request("x"), deadline));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_EQ(reply.reason.find("node 9 device 1 slot 0: unavailable"), 0u) << reply.reason;
}

TEST_F(RemoteEndpointTest, ADiskThatDoesNotRunBecomesAnError) {
  services_of_b.remove(address);
  const DiskReply reply = ask(put_request("x"));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_EQ(reply.reason, "node 2 device 3 slot 7: not running");
}

TEST_F(RemoteEndpointTest, ACrashOfTheOtherNodeEndsTheCall) {
  disk->delay = 1h;
  std::optional<DiskReply> reply;
  const auto call = [](RemoteEndpoint& to, Instant by,
                       std::optional<DiskReply>& result) -> Task<void> {
    result = co_await to.call(put_request("x"), by);
  };
  spawn(call(endpoint, world.executor().now() + 1s, reply));
  world.run_for(10ms);
  b.crash();
  world.run_for(2s);
  ASSERT_TRUE(reply);
  EXPECT_NE(reply->status, Status::kOk);
}

TEST_F(RemoteEndpointTest, LostAndRepeatedMessagesNeverGiveAWrongReply) {
  world.network().everywhere().loss.one_in = 4;
  world.network().everywhere().duplicate.one_in = 4;
  int ok = 0;
  for (int i = 0; i < 200; ++i) {
    const DiskReply reply = ask(get_request(1), 20ms);
    EXPECT_TRUE(reply.status == Status::kOk || reply.status == Status::kDeadline) << reply.reason;
    if (reply.status == Status::kOk) ++ok;
  }
  EXPECT_GT(ok, 50);
  EXPECT_LT(ok, 200);
}

TEST_F(RemoteEndpointTest, ARequestOverTheFrameLimitIsNotSent) {
  DiskRequest request = put_request("x");
  std::get<PutPart>(request.body).data = Buffer::zeroed(kFrameBytesMax).freeze();
  const DiskReply reply = ask(std::move(request));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_NE(reply.reason.find("over the maximum"), std::string::npos);
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(RemoteEndpointTest, AReplyOverTheFrameLimitBecomesAnError) {
  disk->fixed_reply = error_reply("");
  GetPartsReply parts;
  parts.answers.resize(4, {0, Status::kOk, 1, Buffer::zeroed(9u << 20).freeze(), {}});
  disk->fixed_reply->body = std::move(parts);
  const DiskReply reply = ask(get_request(1));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_NE(reply.reason.find("over the maximum"), std::string::npos) << reply.reason;
}

TEST_F(RemoteEndpointTest, ARequestOverALimitOfTheProtocolIsRefusedByTheOtherNode) {
  const DiskReply reply = ask(get_request(kPartQueriesMax + 1));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_NE(reply.reason.find("10001 queries"), std::string::npos) << reply.reason;
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(RemoteEndpointTest, RepliesThatDoNotFitTheRequestBecomeErrors) {
  DiskReply odd = error_reply("");
  odd.status = Status::kOk;
  const auto reason = [&](ReplyBody body) {
    odd.body = std::move(body);
    disk->fixed_reply = odd;
    const DiskReply reply = ask(get_request(2));
    EXPECT_EQ(reply.status, Status::kError);
    return reply.reason;
  };
  const std::string_view prefix = "node 2 device 3 slot 7: ";
  EXPECT_NE(reason(std::monostate{}).find("OK but has no body"), std::string::npos);
  EXPECT_NE(reason(PutPartReply{}).find("another kind of request"), std::string::npos);
  const std::string odd_query =
      reason(GetPartsReply{{{2, Status::kOk, 1, Slice::copy_of("x"), {}}}, false});
  EXPECT_NE(odd_query.find("the reply answers query 2 of 2"), std::string::npos) << odd_query;
  EXPECT_EQ(odd_query.substr(0, prefix.size()), prefix);
}

TEST_F(RemoteEndpointTest, ARefusalWithoutABodyIsPassedOnAsItIs) {
  DiskReply blocked = error_reply("generation 3 is blocked");
  blocked.status = Status::kBlocked;
  blocked.colour = Colour::kYellow;
  disk->fixed_reply = blocked;
  const DiskReply reply = ask(put_request("x"));
  EXPECT_EQ(reply.status, Status::kBlocked);
  EXPECT_EQ(reply.reason, "generation 3 is blocked");
  EXPECT_EQ(reply.colour, Colour::kYellow);
}

Task<Slice> constant(Slice reply) {
  co_return reply;
}

TEST_F(RemoteEndpointTest, RepliesThatAreNotUnderstoodBecomeErrors) {
  DiskReply reply = error_reply("");
  reply.status = Status::kOk;
  reply.body = PutPartReply{};
  const DiskAddress stranger{b.id(), 3, 6};
  for (const Slice& frame : {Slice(), Slice::copy_of("nonsense"), encode(reply),
                             seal(stranger, encode_pieces(reply)), seal(address, {})}) {
    b.world().network.serve([frame](NodeId, Slice) { return constant(frame); });
    const DiskReply got = ask(put_request("x"));
    EXPECT_EQ(got.status, Status::kError);
    EXPECT_FALSE(got.reason.empty());
  }
}

TEST_F(RemoteEndpointTest, BytesThatAreNoRequestGetAnErrorThatSaysWhat) {
  EXPECT_EQ(raw({}).reason, "corrupt: envelope: only 0 bytes");
  EXPECT_EQ(raw(Slice::copy_of("12345678")).reason, "corrupt: envelope: only 8 bytes");
  EXPECT_EQ(raw(Slice::copy_of("\x02 and so on")).reason,
            "corrupt: envelope: version 2 is unknown");
  EXPECT_EQ(raw(seal(address, {})).reason, "corrupt: request: only 0 bytes");
  EXPECT_EQ(raw(seal(address, encode_pieces(DiskReply()))).reason,
            "corrupt: request: kind 2 is not 1");
  EXPECT_EQ(disk->handled, 0);
}

TEST_F(RemoteEndpointTest, EveryTruncationOfARequestGetsAnErrorReply) {
  const Slice frame = seal(address, encode_pieces(put_request("some data")));
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(raw(frame.sub(0, size)).status, Status::kError) << size;
  }
  EXPECT_EQ(raw(frame).status, Status::kOk);
}

TEST_F(RemoteEndpointTest, ANodeServiceThatWasDestroyedAnswersAnError) {
  service.reset();
  const DiskReply reply = ask(put_request("x"));
  EXPECT_EQ(reply.status, Status::kError);
  EXPECT_EQ(reply.reason, "node 2: stopped");
}

TEST_F(RemoteEndpointTest, TheEndpointMayBeDestroyedBeforeItsCall) {
  auto brief = std::make_unique<RemoteEndpoint>(a.world().network, address);
  Task<DiskReply> call = brief->call(put_request("x"), world.executor().now() + 1s);
  brief.reset();
  EXPECT_EQ(world.run(std::move(call)).status, Status::kOk);
}

}  // namespace
}  // namespace moraine::blob
