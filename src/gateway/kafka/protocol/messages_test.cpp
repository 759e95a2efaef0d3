#include "gateway/kafka/protocol/messages.h"

#include <gtest/gtest.h>

#include "gateway/kafka/protocol/consumer_protocol.h"
#include "gateway/kafka/protocol/field_reader.h"
#include "queue/kafka/test_bytes.h"

namespace moraine::kafka {
namespace {

template <class Message>
Slice encoded(const Message& message, std::int16_t version) {
  Writer writer;
  encode_body(writer, message, version);
  return joined(std::move(writer));
}

template <class Message>
Message again(const Message& message, std::int16_t version) {
  auto decoded = decode_body<Message>(encoded(message, version), version);
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message();
  return decoded.value_or(Message{});
}

// --- Golden frames -------------------------------------------------------------------------------

TEST(ApiVersions, MatchesTheBytesOfRealClients) {
  const Slice frame = unhex("0012 0003 00000001 0003636c69 00 04617070 04312e30 00");
  const auto incoming = open_request(frame, {});
  ASSERT_TRUE(incoming.has_value());
  EXPECT_TRUE(incoming->version_supported);
  EXPECT_EQ(incoming->header.client_id, "cli");
  const auto request = decode_body<ApiVersionsRequest>(incoming->body, 3);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->client_software_name, "app");
  EXPECT_EQ(request->client_software_version, "1.0");
  EXPECT_EQ(hex(joined(encode_request(incoming->header, *request))), "00000017" + hex(frame));

  ApiVersionsResponse response;
  response.api_keys = {{ApiKey::kProduce, 0, 9}, {ApiKey::kApiVersions, 0, 3}};
  EXPECT_EQ(hex(joined(encode_response(incoming->header, response))),
            hex(unhex("0000001a 00000001 0000 03 000000000009 00 001200000003 00 00000000 00")));

  response.error_code = ErrorCode::kUnsupportedVersion;
  response.api_keys = {{ApiKey::kApiVersions, 0, 3}};
  EXPECT_EQ(hex(joined(encode_response({ApiKey::kApiVersions, 0, 1, {}}, response))),
            hex(unhex("00000010 00000001 0023 00000001 001200000003")));
}

TEST(Metadata, MatchesTheBytesOfRealClients) {
  const RequestHeader header{ApiKey::kMetadata, 4, 2, "cli"};
  MetadataRequest request;
  request.topics.emplace().push_back({{}, "t"});
  EXPECT_EQ(hex(joined(encode_request(header, request))),
            hex(unhex("00000015 0003 0004 00000002 0003636c69 00000001 000174 01")));

  MetadataResponse response;
  response.brokers = {{1, "127.0.0.1", 9092, {}}};
  response.cluster_id = "c";
  response.controller_id = 1;
  MetadataResponse::Topic& topic = response.topics.emplace_back();
  topic.name = "t";
  MetadataResponse::Partition& partition = topic.partitions.emplace_back();
  partition.leader_id = 1;
  partition.replica_nodes = {1};
  partition.isr_nodes = {1};
  EXPECT_EQ(hex(joined(encode_response(header, response))),
            hex(unhex("00000050 00000002 00000000 00000001 00000001 00093132372e302e302e31"
                      "00002384 ffff 000163 00000001 00000001 0000 000174 00 00000001 0000"
                      "00000000 00000001 00000001 00000001 00000001 00000001")));
}

// --- Values that versions encode differently -----------------------------------------------------

TEST(Metadata, NullMeansAllTopicsInEveryVersion) {
  for (const std::int16_t version : {0, 1, 9, 12}) {
    EXPECT_FALSE(again(MetadataRequest{}, version).topics.has_value()) << version;
  }
  MetadataRequest none;
  none.topics.emplace();
  EXPECT_TRUE(again(none, 1).topics.has_value());
}

TEST(Metadata, OldVersionsLetTopicsBeCreated) {
  MetadataRequest request;
  request.allow_auto_topic_creation = false;
  EXPECT_TRUE(again(request, 3).allow_auto_topic_creation);
  EXPECT_FALSE(again(request, 4).allow_auto_topic_creation);
}

TEST(Metadata, ATopicWithoutNameIsWrittenAsEmptyWhereTheVersionHasNoNull) {
  MetadataResponse response;
  response.topics.emplace_back().name.reset();
  EXPECT_EQ(again(response, 11).topics.at(0).name, "");
  EXPECT_EQ(again(response, 12).topics.at(0).name, std::nullopt);
}

TEST(FindCoordinator, OneKeyAndManyHaveTheSameShape) {
  FindCoordinatorRequest request;
  request.key_type = CoordinatorKind::kTransaction;
  request.keys = {"a"};
  EXPECT_EQ(again(request, 3).keys, request.keys);
  EXPECT_EQ(again(request, 4).keys, request.keys);
  EXPECT_EQ(again(request, 0).key_type, CoordinatorKind::kGroup);
  EXPECT_EQ(again(request, 1).key_type, CoordinatorKind::kTransaction);

  FindCoordinatorResponse response;
  response.coordinators = {{"a", 7, "host", 9092, ErrorCode::kNone, {}}};
  for (const std::int16_t version : {0, 3, 4}) {
    const auto read = again(response, version);
    ASSERT_EQ(read.coordinators.size(), 1u);
    EXPECT_EQ(read.coordinators[0].node_id, 7);
    EXPECT_EQ(read.coordinators[0].host, "host");
    EXPECT_EQ(read.coordinators[0].port, 9092);
  }
}

TEST(OffsetFetch, OneGroupAndManyHaveTheSameShape) {
  OffsetFetchRequest request;
  request.groups = {{"g", std::vector<OffsetFetchRequest::Topic>{{"t", {0, 5}}}}};
  OffsetFetchResponse response;
  response.groups = {{"g", {{"t", {{5, 42, -1, "m", ErrorCode::kNone}}}}, ErrorCode::kNone}};
  for (const std::int16_t version : {0, 5, 7, 8}) {
    const auto asked = again(request, version);
    ASSERT_EQ(asked.groups.size(), 1u);
    EXPECT_EQ(asked.groups[0].group_id, "g");
    ASSERT_TRUE(asked.groups[0].topics.has_value());
    EXPECT_EQ(asked.groups[0].topics->at(0).partition_indexes, (std::vector<std::int32_t>{0, 5}));
    const auto answered = again(response, version);
    EXPECT_EQ(answered.groups.at(0).topics.at(0).partitions.at(0).committed_offset, 42);
  }
  request.groups[0].topics.reset();
  EXPECT_FALSE(again(request, 2).groups[0].topics.has_value());
}

TEST(LeaveGroup, OneMemberAndManyHaveTheSameShape) {
  LeaveGroupRequest request;
  request.group_id = "g";
  request.members = {{"m", {}}};
  EXPECT_EQ(again(request, 0).members.at(0).member_id, "m");
  EXPECT_EQ(again(request, 4).members.at(0).member_id, "m");
}

TEST(DeleteTopics, NamesAndStructuresHaveTheSameShape) {
  DeleteTopicsRequest request;
  request.topics = {{"a", {}}, {"b", {}}};
  for (const std::int16_t version : {1, 5, 6}) {
    const auto read = again(request, version);
    ASSERT_EQ(read.topics.size(), 2u);
    EXPECT_EQ(read.topics[1].name, "b");
  }
}

// --- Records -------------------------------------------------------------------------------------

TEST(Produce, RecordsShareTheMemoryOfTheFrame) {
  ProduceRequest request;
  ProduceRequest::Topic& topic = request.topics.emplace_back();
  topic.partitions.push_back({3, {{Slice::copy_of("some records")}}});
  topic.partitions.push_back({4, {{}, true}});
  topic.partitions.push_back({5, {}});
  for (const std::int16_t version : {0, 3, 9}) {
    const Slice body = encoded(request, version);
    const auto read = decode_body<ProduceRequest>(body, version);
    ASSERT_TRUE(read.has_value());
    const auto& partitions = read->topics.at(0).partitions;
    ASSERT_EQ(partitions.at(0).records.slices.size(), 1u);
    const Slice& records = partitions[0].records.slices[0];
    EXPECT_EQ(records.text(), "some records");
    EXPECT_GE(records.data(), body.data());
    EXPECT_LT(records.data(), body.data() + body.size());
    EXPECT_TRUE(partitions.at(1).records.is_null);
    EXPECT_FALSE(partitions.at(2).records.is_null);
    EXPECT_EQ(partitions.at(2).records.size(), 0u);
  }
}

TEST(Fetch, RecordsGoOutWithoutBeingCopied) {
  const Slice batch = Slice::copy_of(std::string(100'000, 'r'));
  FetchResponse response;
  FetchResponse::Topic& topic = response.topics.emplace_back();
  for (int i = 0; i < 2; ++i) {
    topic.partitions.emplace_back().records.slices = {Slice::copy_of("header"), batch};
  }
  const RequestHeader header{ApiKey::kFetch, 13, -5, {}};
  const std::vector<Slice> slices = encode_response(header, response);
  ASSERT_EQ(slices.size(), 5u);
  EXPECT_EQ(slices[1].data(), batch.data());
  EXPECT_EQ(slices[3].data(), batch.data());

  const Slice frame = joined(slices);
  EXPECT_EQ(load_big<std::int32_t>(frame.data()), static_cast<int>(frame.size() - 4));
  const auto body = open_response(header, frame.sub(4, frame.size() - 4));
  ASSERT_TRUE(body.has_value());
  const auto read = decode_body<FetchResponse>(*body, 13);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->topics.at(0).partitions.at(1).records.size(), batch.size() + 6);
  EXPECT_TRUE(read->topics[0].partitions[0].aborted_transactions.has_value());
}

TEST(Fetch, TaggedStructuresComeBack) {
  FetchResponse response;
  auto& partition = response.topics.emplace_back().partitions.emplace_back();
  partition.diverging_epoch = {4, 17};
  partition.snapshot_id = {99, 2};
  const auto read = again(response, 12);
  const auto& found = read.topics.at(0).partitions.at(0);
  ASSERT_TRUE(found.diverging_epoch.has_value());
  EXPECT_EQ(found.diverging_epoch->end_offset, 17);
  EXPECT_FALSE(found.current_leader.has_value());
  ASSERT_TRUE(found.snapshot_id.has_value());
  EXPECT_EQ(found.snapshot_id->epoch, 2);
}

// --- Malicious input -----------------------------------------------------------------------------

std::string problem_of(ApiKey api, std::int16_t version, std::string_view bytes) {
  const auto request = decode_any_request(api, version, unhex(bytes));
  if (request) return "";
  EXPECT_EQ(request.error().code, Errc::kCorrupt);
  return request.error().context.substr(request.error().context.rfind(": ") + 2);
}

TEST(Decoding, RefusesLengthsThatCannotBe) {
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 0, "7fffffff"), "a length is more than what is left");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 0, "fffffffe"), "a length is negative");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 0, "ffffffff"), "an array is null");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 0, "00000001 ffff"), "a string is null");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 0, "00000001 fffe"),
            "a string's length is out of range");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 2, "ffffffff0f"),
            "a length is more than what is left");
  EXPECT_EQ(problem_of(ApiKey::kDeleteGroups, 2, "02 818002"), "a string's length is out of range");
  EXPECT_EQ(problem_of(ApiKey::kSaslAuthenticate, 0, "ffffffff"), "bytes are null");
  EXPECT_EQ(problem_of(ApiKey::kMetadata, 0, "ffffffff"),
            "a field is null where its version has no null");
}

TEST(Decoding, RefusesATaggedFieldWithTheWrongSize) {
  // Fetch version 12 with everything empty and tag 0, the cluster id.
  const std::string body =
      "ffffffff 00000000 00000000 00000000 00 00000000 00000000 01 01 01 01 00";
  EXPECT_EQ(problem_of(ApiKey::kFetch, 12, body + "02 0263"), "");
  EXPECT_EQ(problem_of(ApiKey::kFetch, 12, body + "03 026300"), "a tagged field is too long");
  EXPECT_EQ(problem_of(ApiKey::kFetch, 12, body + "01 0263"), "the input is short");
}

TEST(Decoding, BoundsTheElementsOfAMessage) {
  Writer body;
  body.fixed(static_cast<std::int32_t>(kElementsMax + 1));
  for (std::size_t i = 0; i <= kElementsMax; ++i) body.fixed(std::int16_t{0});
  const auto request = decode_body<DeleteGroupsRequest>(joined(std::move(body)), 0);
  ASSERT_FALSE(request.has_value());
  EXPECT_NE(request.error().context.find("too many elements"), std::string::npos);
}

TEST(Decoding, IgnoresBytesAfterARequestButNotAfterAResponse) {
  EXPECT_TRUE(decode_any_request(ApiKey::kDeleteGroups, 0, unhex("00000000 aa")).has_value());
  EXPECT_TRUE(
      decode_any_response(ApiKey::kDeleteGroups, 0, unhex("00000000 00000000")).has_value());
  EXPECT_FALSE(
      decode_any_response(ApiKey::kDeleteGroups, 0, unhex("00000000 00000000 aa")).has_value());
}

TEST(Encoding, CutsTextThatNoVersionCanCarry) {
  ProduceResponse response;
  auto& partition = response.topics.emplace_back().partitions.emplace_back();
  partition.error_message = std::string(kStringBytesMax + 10, 'e');
  for (const std::int16_t version : {8, 9}) {
    const auto read = again(response, version);
    EXPECT_EQ(read.topics.at(0).partitions.at(0).error_message->size(), kStringBytesMax);
  }
}

// --- Metadata of consumers -----------------------------------------------------------------------

TEST(ConsumerProtocol, ReadsSubscriptionsOfAnyVersion) {
  const Slice bytes = encode_subscription({0, {"a", "b"}, Slice::copy_of("data")});
  EXPECT_EQ(hex(bytes), "0000000000020001610001620000000464617461");
  const auto read = decode_subscription(unhex("0003 00000001 000161 ffffffff 00000000 00000007"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->version, 3);
  EXPECT_EQ(read->topics, std::vector<std::string>{"a"});
  EXPECT_FALSE(read->user_data.has_value());
  EXPECT_FALSE(decode_subscription(unhex("0000 00000005")).has_value());
}

TEST(ConsumerProtocol, ReadsAssignments) {
  const auto read = decode_assignment(encode_assignment({0, {{"t", {1, 2}}}, {}}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->topics.at(0).partitions, (std::vector<std::int32_t>{1, 2}));
  EXPECT_FALSE(decode_assignment({}).has_value());
}

}  // namespace
}  // namespace moraine::kafka
