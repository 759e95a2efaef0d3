#include "gateway/kafka/server/connection.h"

#include <gtest/gtest.h>

#include "gateway/kafka/server/server_test_util.h"

namespace moraine::kafka {
namespace {

class ConnectionTest : public KafkaServerTest {
 protected:
  using KafkaServerTest::KafkaServerTest;
  const ScopedLogCapture log_;
};

Slice frame_of(std::vector<Slice> slices) {
  return joined(std::move(slices));
}

TEST_F(ConnectionTest, AnUnknownVersionOfApiVersionsIsAnsweredInVersionZero) {
  send_bytes(unhex("00000017 0012 0063 00000001 0003636c69 00 04617070 04312e30 00"));
  const RequestHeader v0{ApiKey::kApiVersions, 0, 1, {}};
  const auto refused = receive<ApiVersionsResponse>(v0);
  EXPECT_EQ(refused.error_code, ErrorCode::kUnsupportedVersion);
  EXPECT_GT(refused.api_keys.size(), 20u);
  for (const std::int16_t version : {0, 3}) {
    const auto offered = ask(ApiVersionsRequest{}, version);
    EXPECT_EQ(offered.error_code, ErrorCode::kNone);
    EXPECT_EQ(offered.api_keys.size(), refused.api_keys.size());
  }
}

TEST_F(ConnectionTest, UnknownApisVersionsAndSizesCloseTheConnectionOnly) {
  for (const std::string_view bytes :
       {"0000000a 0000 0063 00000001 ffff", "0000000a 01f4 0000 00000001 ffff",
        "0000000a 0018 0000 00000001 ffff", "00000007 0012 0000 000000", "ffffffff", "7fffffff",
        "47455420 2f204854 54502f31"}) {
    send_bytes(unhex(bytes));
    EXPECT_TRUE(closed()) << bytes;
    connect();
  }
  EXPECT_EQ(ask(ApiVersionsRequest{}, 0).error_code, ErrorCode::kNone);
  EXPECT_EQ(service_.metrics().closed_for_cause.value(), 7u);
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(ConnectionTest, ClosedClientsAreLoggedWithAFewLines) {
  for (int i = 0; i < 50; ++i) {
    send_bytes(unhex("ffffffff"));
    EXPECT_TRUE(closed());
    connect();
  }
  EXPECT_EQ(log_.lines().size(), LimitedLog::kLinesMax);
}

TEST_F(ConnectionTest, ClientsOfSaslGetAnErrorText) {
  for (const std::int16_t version : {0, 1}) {
    const auto refused = ask(SaslHandshakeRequest{"PLAIN"}, version);
    EXPECT_EQ(refused.error_code, ErrorCode::kIllegalSaslState);
    EXPECT_TRUE(refused.mechanisms.empty());
  }
  const auto refused = ask(SaslAuthenticateRequest{Slice::copy_of("token")}, 2);
  EXPECT_EQ(refused.error_code, ErrorCode::kIllegalSaslState);
  EXPECT_NE(refused.error_message.value_or("").find("PLAINTEXT"), std::string::npos);
  EXPECT_EQ(log_.lines().size(), 3u);
  EXPECT_NE(log_.lines().back().find("SASL"), std::string::npos);
  EXPECT_EQ(ask(ApiVersionsRequest{}, 3).error_code, ErrorCode::kNone) << "still connected";
}

TEST_F(ConnectionTest, OtherProtocolsAreCalledByTheirNames) {
  send_bytes(unhex("16030102 00010001 fc0303aa"));
  EXPECT_TRUE(closed());
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_NE(log_.lines()[0].find("TLS"), std::string::npos) << log_.lines()[0];
  connect();
  send_bytes(Slice::copy_of("GET / HTTP/1.1\r\n"));
  EXPECT_TRUE(closed());
  ASSERT_EQ(log_.lines().size(), 2u);
  EXPECT_NE(log_.lines()[1].find("reason=\"an HTTP request"), std::string::npos) << log_.lines()[1];
}

TEST_F(ConnectionTest, FramesComeByteByByteOrManyAtOnce) {
  std::vector<Slice> frames;
  std::vector<RequestHeader> headers;
  for (int i = 0; i < 200; ++i) {
    headers.push_back({ApiKey::kApiVersions, 3, i * 1'000'003 - 77, "c"});
    frames.push_back(frame_of(encode_request(headers.back(), ApiVersionsRequest{"app", "1"})));
  }
  const Slice all = joined(frames);
  for (std::size_t at = 0; at < 100; ++at) send_bytes(all.sub(at, 1));
  send_bytes(all.sub(100, all.size() - 100));
  for (const RequestHeader& header : headers) {
    EXPECT_EQ(receive<ApiVersionsResponse>(header).error_code, ErrorCode::kNone);
  }
}

TEST_F(ConnectionTest, AnswersLeaveInTheOrderOfRequests) {
  FakePartition& partition = make_topic("t");
  partition.write_delay = 50ms;
  const auto fetch = send(fetch_of("t", 0, 300), 11);
  const auto first = send(produce_of("t", batch_with({"a"})), 7);
  const auto second = send(produce_of("t", batch_with({"b"})), 7);
  const auto versions = send(ApiVersionsRequest{}, 0);
  // The Produces begin behind the Fetch and wake it.
  EXPECT_GE(receive<FetchResponse>(fetch).topics[0].partitions[0].high_watermark, 1);
  EXPECT_LT(now(), 100ms);
  EXPECT_EQ(receive<ProduceResponse>(first).topics[0].partitions[0].base_offset, 0);
  EXPECT_EQ(receive<ProduceResponse>(second).topics[0].partitions[0].base_offset, 1);
  EXPECT_EQ(receive<ApiVersionsResponse>(versions).error_code, ErrorCode::kNone);
}

TEST_F(ConnectionTest, ALongPollHoldsLaterAnswersOfItsConnectionOnly) {
  make_topic("t");
  const auto fetch = send(fetch_of("t", 0, 1000), 11);
  const auto versions = send(ApiVersionsRequest{}, 0);
  const auto waiting = client_;
  connect();
  EXPECT_EQ(ask(ApiVersionsRequest{}, 0).error_code, ErrorCode::kNone);
  EXPECT_LT(now(), 100ms);
  client_.swap(others_.front());
  EXPECT_EQ(client_, waiting);
  EXPECT_EQ(receive<FetchResponse>(fetch).topics[0].partitions[0].error_code, ErrorCode::kNone);
  EXPECT_GE(now(), 1000ms);
  EXPECT_EQ(receive<ApiVersionsResponse>(versions).error_code, ErrorCode::kNone);
}

TEST_F(ConnectionTest, AProduceWithoutAcksHasNoAnswer) {
  make_topic("t");
  send(produce_of("t", batch_with({"a"}), 0), 7);
  const auto versions = send(ApiVersionsRequest{}, 0);
  EXPECT_EQ(receive<ApiVersionsResponse>(versions).error_code, ErrorCode::kNone);
  EXPECT_EQ(ask(produce_of("t", batch_with({"b"}), 1), 7).topics[0].partitions[0].base_offset, 1);
}

Task<void> write_all(std::shared_ptr<ByteStream> client, std::vector<Slice> all) {
  EXPECT_TRUE(co_await client->write(std::move(all)));
}

// What is read ahead, and what is not after a long request, is never lost.
TEST_F(ConnectionTest, ShortAndLongRequestsFollowEachOther) {
  FakePartition& partition = make_topic("t");
  const std::vector<std::size_t> sizes{10,      20'000, 16'200, 30'000,  5, 7,
                                       600'000, 9,      17'000, 300'000, 16};
  std::vector<Slice> requests;
  for (const std::size_t size : sizes) {
    const RequestHeader header{ApiKey::kProduce, 9, ++correlation_, "tester"};
    for (Slice& slice :
         encode_request(header, produce_of("t", batch_with({std::string(size, 'x')})))) {
      requests.push_back(std::move(slice));
    }
  }
  sends_.spawn(write_all(client_, std::move(requests)));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto number = correlation_ - static_cast<std::int32_t>(sizes.size() - 1 - i);
    const RequestHeader header{ApiKey::kProduce, 9, number, "tester"};
    const auto answer = receive<ProduceResponse>(header).topics.at(0).partitions.at(0);
    EXPECT_EQ(answer.base_offset, static_cast<std::int64_t>(i));
    const Slice expected = batch_with({std::string(sizes[i], 'x')});
    EXPECT_TRUE(equal(partition.requests.at(i).payload, expected)) << sizes[i];
  }
}

TEST_F(ConnectionTest, ShortProducesThatArriveTogetherAreNotCopiedAndALoneOneHoldsLittle) {
  FakePartition& partition = make_topic("t");
  const auto produce = [this] {
    const RequestHeader header{ApiKey::kProduce, 9, ++correlation_, "tester"};
    return joined(encode_request(header, produce_of("t", batch_with({std::string(400, 'x')}))));
  };
  std::vector<Slice> requests;
  for (int i = 0; i < 200; ++i) requests.push_back(produce());
  const std::size_t request_bytes = requests[0].size();
  sends_.spawn(write_all(client_, {joined(std::move(requests))}));
  world_.run_for(1s);
  ASSERT_EQ(partition.requests.size(), 200u);
  std::size_t neighbours = 0;
  for (std::size_t i = 1; i < 200; ++i) {
    const Slice& payload = partition.requests[i].payload;
    EXPECT_LE(payload.held_bytes(), kInputBufferBytesMax);
    neighbours += payload.data() == partition.requests[i - 1].payload.data() + request_bytes;
  }
  EXPECT_GT(neighbours, 150u) << "the payloads are where they were received";
  sends_.spawn(write_all(client_, {produce()}));
  world_.run_for(1s);
  ASSERT_EQ(partition.requests.size(), 201u);
  EXPECT_LE(partition.requests.back().payload.held_bytes(), kInputBufferBytesMin);
}

TEST_F(ConnectionTest, AFailedProduceWithoutAcksClosesTheConnection) {
  send(produce_of("nope", batch_with({"a"}), 0), 7);
  EXPECT_TRUE(closed());
}

TEST_F(ConnectionTest, AClientThatAnnouncesMuchAndSendsNothingHoldsLittleAndIsClosed) {
  send_bytes(unhex("06400000 0000 0007"));
  world_.run_for(1s);
  EXPECT_EQ(service_.requests().used(), kFrameStepBytes);
  world_.run_for(kStalledFrameTimeout);
  EXPECT_EQ(service_.requests().used(), 0u);
  EXPECT_TRUE(closed());
}

TEST_F(ConnectionTest, AnIdleClientIsClosedAfterTenMinutesAndABusyOneIsNot) {
  world_.run_for(kIdleTimeout - 1s);
  EXPECT_EQ(ask(ApiVersionsRequest{}, 0).error_code, ErrorCode::kNone);
  groups_.join_delay = kIdleTimeout + 60s;
  EXPECT_EQ(ask(JoinGroupRequest{}, 5).generation_id, 1);
  EXPECT_EQ(groups_.last_client.host, "/10.0.0.1");
  EXPECT_EQ(groups_.last_client.id, "tester");
  const Duration before = now();
  EXPECT_TRUE(closed());
  EXPECT_GE(now() - before, 9min);
  EXPECT_EQ(service_.metrics().connections.value(), 0);
}

TEST_F(ConnectionTest, AClientThatLeavesEndsItsLongPoll) {
  FakePartition& partition = make_topic("t");
  send(fetch_of("t", 0, 200'000), 11);
  world_.run_for(1s);
  EXPECT_EQ(partition.watches, 1);
  client_->close();
  world_.run_for(1s);
  EXPECT_EQ(partition.watches, 0);
  EXPECT_EQ(service_.metrics().connections.value(), 0);
}

TEST_F(ConnectionTest, ManyPipelinedRequestsAreHandledAFewAtATime) {
  FakePartition& partition = make_topic("t");
  partition.stop_answering = true;
  std::vector<Slice> slices;
  for (int i = 0; i < 200; ++i) {
    const RequestHeader header{ApiKey::kProduce, 7, i, "c"};
    for (Slice& slice : encode_request(header, produce_of("t", batch_with({"x"})))) {
      slices.push_back(std::move(slice));
    }
  }
  const Slice all = joined(std::move(slices));
  send_bytes(all);
  world_.run_for(1s);
  EXPECT_EQ(partition.requests.size(), kPipelinedRequestsMax);
  partition.stop_answering = false;
  for (std::size_t i = 0; i < kPipelinedRequestsMax; ++i) partition.answer_next();
  for (int i = 0; i < 200; ++i) {
    const RequestHeader header{ApiKey::kProduce, 7, i, "c"};
    EXPECT_EQ(receive<ProduceResponse>(header).topics[0].partitions[0].base_offset, i);
  }
}

TEST_F(ConnectionTest, ASlowReaderHoldsOneAnswerAndIsClosedInTheEnd) {
  FakePartition& partition = make_topic("t");
  for (int i = 0; i < 30; ++i) {
    partition.store_batch(batch_with({std::string(1'000'000, 'x')}));
  }
  for (int i = 0; i < 10; ++i) {
    FetchRequest request = fetch_of("t", 0);
    request.topics[0].partitions[0].partition_max_bytes = 5'000'000;
    send(request, 11);
  }
  world_.run_for(1s);
  EXPECT_EQ(partition.reads, 1);
  EXPECT_GT(service_.responses().used(), 4'000'000u);
  EXPECT_LT(service_.responses().used(), 6'000'000u);
  world_.run_for(kStalledWriteTimeout);
  EXPECT_EQ(service_.responses().used(), 0u);
  EXPECT_EQ(service_.metrics().connections.value(), 0);
}

class SmallBudgetTest : public ConnectionTest {
 protected:
  SmallBudgetTest()
      : ConnectionTest(KafkaOptions{.request_bytes_max = 200'000, .response_bytes_max = 300'000}) {}

  Slice big_produce() {
    const RequestHeader header{ApiKey::kProduce, 7, ++correlation_, "c"};
    return frame_of(
        encode_request(header, produce_of("t", batch_with({std::string(150'000, 'x')}))));
  }
};

TEST_F(SmallBudgetTest, LongRequestsOfManyClientsTakeTurnsAndAllEnd) {
  make_topic("t").write_delay = 100ms;
  std::vector<std::shared_ptr<ByteStream>> clients;
  for (int i = 0; i < 8; ++i) {
    connect();
    clients.push_back(client_);
  }
  std::size_t most = 0;
  std::size_t answered = 0;
  const Slice request = big_produce();
  for (const auto& client : clients) sends_.spawn(send_and_receive(client, request, answered));
  while (answered < clients.size() && now() < 100s) {
    world_.run_for(1ms);
    most = std::max(most, service_.requests().used());
  }
  EXPECT_EQ(answered, clients.size());
  // The limit, and the one request that may exceed it.
  EXPECT_LE(most, 200'000u + 160'000u);
  EXPECT_EQ(service_.requests().used(), 0u);
}

TEST_F(SmallBudgetTest, FetchesOfSlowReadersWaitForEachOther) {
  FakePartition& partition = make_topic("t");
  for (int i = 0; i < 3; ++i) partition.store_batch(batch_with({std::string(90'000, 'x')}));
  std::vector<std::shared_ptr<ByteStream>> clients;
  std::vector<RequestHeader> headers;
  for (int i = 0; i < 4; ++i) {
    connect();
    clients.push_back(client_);
    headers.push_back(send(fetch_of("t", 0), 11));
  }
  world_.run_for(kContendedStallTimeout / 2);
  EXPECT_LT(partition.reads, 4);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    client_ = clients[i];
    EXPECT_EQ(receive<FetchResponse>(headers[i]).topics[0].partitions[0].high_watermark, 3);
  }
  EXPECT_EQ(service_.responses().used(), 0u);
}

}  // namespace
}  // namespace moraine::kafka
