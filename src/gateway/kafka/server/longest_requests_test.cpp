// Every request of the protocol, with its lists as long as allowed: with distinct names and with
// the same name everywhere. A kind without an entry fails.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "gateway/kafka/protocol/field_reader.h"
#include "gateway/kafka/server/request_cost.h"
#include "gateway/kafka/server/server_test_util.h"
#include "gateway/kafka/server/topic_batches.h"

namespace moraine::kafka {
namespace {

enum class Names : std::uint8_t { kSame, kDistinct };
enum class Shape : std::uint8_t { kManyTopics, kManyPartitions };

// Names and lengths of the lists of one request.
struct Filler {
  Names names = Names::kSame;
  Shape shape = Shape::kManyTopics;

  static constexpr std::size_t kList = kElementsMax;
  std::size_t outer() const { return shape == Shape::kManyTopics ? kElementsMax / 2 : 1; }
  std::size_t inner() const { return shape == Shape::kManyTopics ? 1 : kElementsMax - 1; }
  std::string name(std::size_t at) const {
    return names == Names::kSame ? "n0" : "n" + std::to_string(at);
  }
  std::int32_t number(std::size_t at) const {
    return names == Names::kSame ? 0 : static_cast<std::int32_t>(at);
  }
};

template <class Item, class Make>
void repeat(std::vector<Item>& items, std::size_t count, Make make) {
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) items.push_back(make(i));
}

// Topics with partitions, each made by `make`.
template <class Topic, class Make>
void fill_topics(std::vector<Topic>& topics, const Filler& filler, Make make) {
  repeat(topics, filler.outer(), [&](std::size_t t) {
    Topic topic;
    topic.name = filler.name(t);
    repeat(topic.partitions, filler.inner(), [&](std::size_t p) { return make(filler.number(p)); });
    return topic;
  });
}

void fill(ProduceRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler,
              [](std::int32_t index) { return ProduceRequest::Partition{index, {}}; });
}
void fill(FetchRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler, [](std::int32_t index) {
    FetchRequest::Partition partition;
    partition.partition = index;
    partition.partition_max_bytes = 1 << 20;
    return partition;
  });
  for (FetchRequest::Topic& topic : request.topics) topic.topic_id.bytes[0] = std::byte{1};
}
void fill(ListOffsetsRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler,
              [](std::int32_t index) { return ListOffsetsRequest::Partition{index, -1, 0, 1}; });
}
void fill(MetadataRequest& request, const Filler& filler) {
  repeat(request.topics.emplace(), Filler::kList,
         [&](std::size_t i) { return MetadataRequest::Topic{{}, filler.name(i)}; });
}
void fill(OffsetCommitRequest& request, const Filler& filler) {
  request.group_id = "n0";
  fill_topics(request.topics, filler, [](std::int32_t index) {
    return OffsetCommitRequest::Partition{index, 1, -1, -1, {}};
  });
}
void fill(OffsetFetchRequest& request, const Filler& filler) {
  if (filler.shape == Shape::kManyTopics) {
    repeat(request.groups, Filler::kList,
           [&](std::size_t i) { return OffsetFetchRequest::Group{filler.name(i), std::nullopt}; });
    return;
  }
  OffsetFetchRequest::Topic topic{"n0", {}};
  repeat(topic.partition_indexes, Filler::kList - 2,
         [&](std::size_t i) { return filler.number(i); });
  OffsetFetchRequest::Group group{"n0", std::vector<OffsetFetchRequest::Topic>()};
  group.topics->push_back(std::move(topic));
  request.groups.push_back(std::move(group));
}
void fill(FindCoordinatorRequest& request, const Filler& filler) {
  repeat(request.keys, Filler::kList, [&](std::size_t i) { return filler.name(i); });
}
void fill(JoinGroupRequest& request, const Filler& filler) {
  request.group_id = "n0";
  request.session_timeout_ms = 10'000;
  request.protocol_type = "consumer";
  repeat(request.protocols, Filler::kList,
         [&](std::size_t i) { return JoinGroupRequest::Protocol{filler.name(i), {}}; });
}
void fill(HeartbeatRequest&, const Filler&) {}
void fill(LeaveGroupRequest& request, const Filler& filler) {
  request.group_id = "n0";
  repeat(request.members, Filler::kList,
         [&](std::size_t i) { return LeaveGroupRequest::Member{filler.name(i), {}}; });
}
void fill(SyncGroupRequest& request, const Filler& filler) {
  request.group_id = "n0";
  repeat(request.assignments, Filler::kList,
         [&](std::size_t i) { return SyncGroupRequest::Assignment{filler.name(i), {}}; });
}
void fill(DescribeGroupsRequest& request, const Filler& filler) {
  repeat(request.groups, Filler::kList, [&](std::size_t i) { return filler.name(i); });
}
void fill(ListGroupsRequest& request, const Filler& filler) {
  repeat(request.states_filter, Filler::kList, [&](std::size_t i) { return filler.name(i); });
}
void fill(SaslHandshakeRequest& request, const Filler&) {
  request.mechanism = std::string(kStringBytesMax, 'x');
}
void fill(ApiVersionsRequest& request, const Filler&) {
  request.client_software_name = std::string(kStringBytesMax, 'x');
}
void fill(CreateTopicsRequest& request, const Filler& filler) {
  request.validate_only = filler.shape == Shape::kManyTopics;
  repeat(request.topics, filler.shape == Shape::kManyTopics ? Filler::kList : 1,
         [&](std::size_t i) {
           CreateTopicsRequest::Topic topic;
           topic.name = "new-" + filler.name(i);
           return topic;
         });
  if (filler.shape == Shape::kManyTopics) return;
  repeat(request.topics[0].configs, Filler::kList - 1,
         [&](std::size_t i) { return CreateTopicsRequest::Config{filler.name(i), "1"}; });
}
void fill(DeleteTopicsRequest& request, const Filler& filler) {
  repeat(request.topics, Filler::kList,
         [&](std::size_t i) { return DeleteTopicsRequest::Topic{filler.name(i), {}}; });
}
void fill(DeleteRecordsRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler, [](std::int32_t index) {
    return DeleteRecordsRequest::Partition{index, kHighWatermark};
  });
}
void fill(InitProducerIdRequest& request, const Filler&) {
  request.transactional_id = std::string(kStringBytesMax, 'x');
}
void fill(OffsetForLeaderEpochRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler, [](std::int32_t index) {
    return OffsetForLeaderEpochRequest::Partition{index, -1, 0};
  });
}
void fill(AddPartitionsToTxnRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler, [](std::int32_t index) { return index; });
}
void fill(AddOffsetsToTxnRequest&, const Filler&) {}
void fill(EndTxnRequest&, const Filler&) {}
void fill(TxnOffsetCommitRequest& request, const Filler& filler) {
  fill_topics(request.topics, filler, [](std::int32_t index) {
    return TxnOffsetCommitRequest::Partition{index, 1, -1, {}};
  });
}
void fill(DescribeConfigsRequest& request, const Filler& filler) {
  request.include_synonyms = true;
  request.include_documentation = true;
  const bool many = filler.shape == Shape::kManyTopics;
  repeat(request.resources, many ? Filler::kList : 1, [&](std::size_t i) {
    return DescribeConfigsRequest::Resource{ResourceType::kTopic, filler.name(i), std::nullopt};
  });
  if (many) return;
  repeat(request.resources[0].configuration_keys.emplace(), Filler::kList - 1,
         [&](std::size_t i) { return filler.name(i); });
}
template <class Request>
void fill_altered(Request& request, const Filler& filler) {
  const bool many = filler.shape == Shape::kManyTopics;
  repeat(request.resources, many ? Filler::kList : 1, [&](std::size_t i) {
    typename Request::Resource resource;
    resource.resource_type = ResourceType::kTopic;
    resource.resource_name = filler.name(i);
    return resource;
  });
  if (many) return;
  repeat(request.resources[0].configs, Filler::kList - 1, [&](std::size_t i) {
    typename Request::Config config;
    config.name = filler.name(i);
    config.value = "1";
    return config;
  });
}
void fill(AlterConfigsRequest& request, const Filler& filler) {
  fill_altered(request, filler);
}
void fill(IncrementalAlterConfigsRequest& request, const Filler& filler) {
  fill_altered(request, filler);
}
void fill(SaslAuthenticateRequest& request, const Filler&) {
  request.auth_bytes = Slice::copy_of(std::string(1 << 20, 'x'));
}
void fill(CreatePartitionsRequest& request, const Filler& filler) {
  const bool many = filler.shape == Shape::kManyTopics;
  repeat(request.topics, many ? Filler::kList : 1,
         [&](std::size_t i) { return CreatePartitionsRequest::Topic{filler.name(i), 100, {}}; });
  if (!many) request.topics[0].assignments.emplace(Filler::kList - 1);
}
void fill(DeleteGroupsRequest& request, const Filler& filler) {
  repeat(request.groups, Filler::kList, [&](std::size_t i) { return filler.name(i); });
}
void fill(OffsetDeleteRequest& request, const Filler& filler) {
  request.group_id = "n0";
  fill_topics(request.topics, filler, [](std::int32_t index) { return index; });
}
void fill(DescribeClusterRequest&, const Filler&) {}
void fill(DescribeAclsRequest& request, const Filler&) {
  request.resource_name_filter = std::string(kStringBytesMax, 'x');
}
template <class Request>
void fill_named(Request& request, const Filler& filler) {
  repeat(request.topics.emplace(), filler.outer(), [&](std::size_t t) {
    NamedPartitions topic{filler.name(t), {}};
    repeat(topic.partitions, filler.inner(), [&](std::size_t p) { return filler.number(p); });
    return topic;
  });
}
void fill(DescribeLogDirsRequest& request, const Filler& filler) {
  fill_named(request, filler);
}
void fill(ElectLeadersRequest& request, const Filler& filler) {
  fill_named(request, filler);
}
void fill(ListPartitionReassignmentsRequest& request, const Filler& filler) {
  fill_named(request, filler);
}
void fill(DescribeClientQuotasRequest& request, const Filler& filler) {
  repeat(request.components, Filler::kList, [&](std::size_t i) {
    return DescribeClientQuotasRequest::Component{filler.name(i), 0, {}};
  });
}
void fill(DescribeUserScramCredentialsRequest& request, const Filler& filler) {
  repeat(request.users.emplace(), Filler::kList,
         [&](std::size_t i) { return DescribeUserScramCredentialsRequest::User{filler.name(i)}; });
}
void fill(ListTransactionsRequest& request, const Filler& filler) {
  repeat(request.state_filters, Filler::kList, [&](std::size_t i) { return filler.name(i); });
}
void fill(DescribeTopicPartitionsRequest& request, const Filler& filler) {
  repeat(request.topics, Filler::kList,
         [&](std::size_t i) { return DescribeTopicPartitionsRequest::Topic{filler.name(i)}; });
}

// The request of one kind; nullopt: the kind has no entry above.
template <std::size_t I>
std::optional<AnyRequest> longest_at(const Filler& filler) {
  std::variant_alternative_t<I, AnyRequest> request;
  if constexpr (requires { fill(request, filler); }) {
    fill(request, filler);
    return AnyRequest(std::move(request));
  }
  return std::nullopt;
}
template <std::size_t... I>
std::optional<AnyRequest> longest_of(std::size_t kind, const Filler& filler,
                                     std::index_sequence<I...>) {
  std::optional<AnyRequest> request;
  ((I == kind ? void(request = longest_at<I>(filler)) : void()), ...);
  return request;
}

constexpr std::size_t kKinds = std::variant_size_v<AnyRequest>;
constexpr std::size_t kRequestBytes = std::size_t{64} << 20;
constexpr std::size_t kResponseBytes = std::size_t{16} << 20;
constexpr std::size_t kErrorTextBytes = std::size_t{256} << 10;  // Of one Produce answer.

struct Sent {
  bool ended = false;
  std::optional<Slice> answer;
};

class LongRequestTest : public KafkaServerTest {
 protected:
  LongRequestTest()
      : KafkaServerTest(KafkaOptions{.auto_create_topics = false,
                                     .request_bytes_max = kRequestBytes,
                                     .response_bytes_max = kResponseBytes},
                        SimStreamOptions{.window = std::size_t{1} << 20}) {
    for (std::size_t i = 0; i < kExisting; ++i) {
      const std::string name = "n" + std::to_string(i);
      make_topic(name, kPartitions);
      groups_.known[name] = "other";
    }
    DescribeGroupsResponse::Member member;
    member.member_metadata = Slice::copy_of(std::string(1 << 20, 'm'));
    member.member_assignment = Slice::copy_of(std::string(1 << 20, 'a'));
    groups_.members.push_back(std::move(member));
    queue::ConsumerOffset offset;
    offset.consumer = "n0";
    offset.metadata = std::string(queue::kConsumerMetadataBytesMax, 'o');
    for (std::uint32_t i = 0; i < kPartitions; ++i) {
      world_.run(topics_.fake(topics_.find("n0")->id, i)->commit(offset));
    }
  }

  static Task<void> exchange(std::shared_ptr<ByteStream> client, std::vector<Slice> frame,
                             Sent& sent) {
    if (co_await client->write(std::move(frame))) {
      auto answer = co_await read_frame(client);
      if (answer) sent.answer = std::move(*answer);
    }
    sent.ended = true;
  }
  static std::vector<Slice> frame_of(const AnyRequest& request, const RequestHeader& header) {
    Writer frame = begin_request(header);
    encode_any_body(frame, request, header.version);
    return finish_frame(std::move(frame));
  }
  // Runs until all have ended, and checks the budgets meanwhile.
  void run_until_ended(const std::vector<std::unique_ptr<Sent>>& all) {
    const auto ended = [&] {
      return std::ranges::all_of(all, [](const auto& sent) { return sent->ended; });
    };
    while (!ended() && now() < 3h) {
      world_.run_for(now() < 10s ? 1ms : 100ms);
      requests_used_ = std::max(requests_used_, service_.requests().used());
      responses_used_ = std::max(
          responses_used_, service_.responses().used() + service_.reserved_responses().used());
    }
    EXPECT_TRUE(ended());
  }

  static constexpr std::size_t kExisting = 100;
  static constexpr std::uint32_t kPartitions = 400;
  static constexpr std::uint32_t kLargePartitions = 20'000;
  // A request that is alone may take more than the limit.
  static constexpr std::size_t kRequestCostMax =
      kElementsMax * (kElementCostBytes + 2 * 128) + (std::size_t{16} << 20);

  const ScopedLogCapture log_;
  std::size_t requests_used_ = 0;
  std::size_t responses_used_ = 0;
};

using Case = std::tuple<std::size_t, Names, Shape>;
class LongestRequestTest : public LongRequestTest, public testing::WithParamInterface<Case> {};

TEST_P(LongestRequestTest, IsAnsweredOrRefusedWithinTheBudgetsAndOthersAreServed) {
  const auto& [kind, names, shape] = GetParam();
  const auto request = longest_of(kind, Filler{names, shape}, std::make_index_sequence<kKinds>());
  ASSERT_TRUE(request) << "request kind " << kind << " has no entry in this file";
  const RequestHeader header{api_of(*request), api_info(api_of(*request)).version_max, 5, "c"};
  std::vector<std::unique_ptr<Sent>> all;
  all.push_back(std::make_unique<Sent>());
  sends_.spawn(exchange(client_, frame_of(*request, header), *all.front()));
  connect();
  EXPECT_EQ(ask(ApiVersionsRequest{}, 3).error_code, ErrorCode::kNone);
  run_until_ended(all);
  if (all.front()->answer) {
    const auto body = open_response(header, *all.front()->answer);
    ASSERT_TRUE(body) << body.error().message();
    // Answers may have more elements than requests; the others are complete.
    const auto response = decode_any_response(header.api, header.version, *body);
    EXPECT_TRUE(response || response.error().context.contains("too many elements"));
  } else {
    EXPECT_EQ(service_.metrics().closed_for_cause.value(), 1u);
  }
  EXPECT_LE(responses_used_, kResponseBytes);
  EXPECT_LE(requests_used_, kRequestBytes + kRequestCostMax);
  EXPECT_EQ(ask(ApiVersionsRequest{}, 3).error_code, ErrorCode::kNone);
  EXPECT_EQ(service_.requests().used(), 0u);
  EXPECT_EQ(service_.responses().used(), 0u);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const auto& [kind, names, shape] = info.param;
  return "Kind" + std::to_string(kind) + (names == Names::kSame ? "SameName" : "OtherNames") +
         (shape == Shape::kManyTopics ? "ManyTopics" : "ManyPartitions");
}
INSTANTIATE_TEST_SUITE_P(AllKinds, LongestRequestTest,
                         testing::Combine(testing::Range(std::size_t{0}, kKinds),
                                          testing::Values(Names::kSame, Names::kDistinct),
                                          testing::Values(Shape::kManyTopics,
                                                          Shape::kManyPartitions)),
                         case_name);

TEST_F(LongRequestTest, EveryApiOfTheTableIsARequestKind) {
  for (const ApiInfo& api : apis()) {
    const auto request = decode_any_request(api.key, api.version_max, Slice());
    EXPECT_FALSE(!request && request.error().code == Errc::kUnsupported) << api.name;
  }
}

TEST_F(LongRequestTest, LongRequestsOfManyClientsAreDecodedOneAfterAnother) {
  DescribeConfigsRequest request;
  fill(request, Filler{Names::kDistinct, Shape::kManyTopics});
  const RequestHeader header{ApiKey::kDescribeConfigs, 4, 5, "c"};
  const std::vector<Slice> frame = encode_request(header, request);
  std::vector<std::unique_ptr<Sent>> all;
  for (int i = 0; i < 10; ++i) {
    connect();
    all.push_back(std::make_unique<Sent>());
    sends_.spawn(exchange(client_, frame, *all.back()));
  }
  run_until_ended(all);
  EXPECT_LE(requests_used_, kRequestBytes + kRequestCostMax);
  EXPECT_LE(responses_used_, kResponseBytes);
}

TEST_F(LongRequestTest, AGroupThatIsNamedManyTimesIsDescribedOnce) {
  DescribeGroupsRequest request;
  request.groups.assign(1'100, "n0");
  const auto response = ask(request, 5);
  ASSERT_EQ(response.groups.size(), 1u);
  EXPECT_EQ(response.groups[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.groups[0].members.at(0).member_metadata.size(), std::size_t{1} << 20);
}

TEST_F(LongRequestTest, GroupsThatHaveNoRoomAreAnsweredWithAnError) {
  DescribeGroupsRequest request;
  for (std::size_t i = 0; i < 100; ++i) request.groups.push_back("n" + std::to_string(i));
  const auto response = ask(request, 5);
  ASSERT_EQ(response.groups.size(), 100u);
  EXPECT_EQ(response.groups.front().error_code, ErrorCode::kNone);
  EXPECT_EQ(response.groups.back().error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(response.groups.back().group_id, "n99");
  EXPECT_TRUE(response.groups.back().members.empty());
}

TEST_F(LongRequestTest, OffsetsOfAGroupThatIsNamedManyTimesAreAnsweredOnce) {
  OffsetFetchRequest request;
  for (int i = 0; i < 1'000; ++i) request.groups.push_back({"n0", std::nullopt});
  const auto response = ask(request, 8);
  ASSERT_EQ(response.groups.size(), 1u);
  EXPECT_EQ(response.groups[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.groups[0].topics.at(0).partitions.size(), kPartitions);
}

TEST_F(LongRequestTest, ConfigsOfATopicThatIsNamedManyTimesAreAnsweredOnceWithAllKeys) {
  DescribeConfigsRequest request;
  for (int i = 0; i < 100; ++i) {
    request.resources.push_back(
        {ResourceType::kTopic, "n0", std::vector<std::string>{"retention.ms"}});
    request.resources.push_back(
        {ResourceType::kTopic, "n0", std::vector<std::string>{"retention.bytes"}});
  }
  const auto response = ask(request, 4);
  ASSERT_EQ(response.results.size(), 1u);
  EXPECT_EQ(response.results[0].configs.size(), 2u);
}

TEST_F(LongRequestTest, ChangesThatNameSomethingTwiceAreRefusedAsByKafka) {
  DeleteTopicsRequest deletes;
  deletes.topics = {{"n1", {}}, {"n2", {}}, {"n1", {}}};
  const auto deleted = ask(deletes, 6);
  EXPECT_EQ(deleted.topics.at(0).error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(deleted.topics.at(1).error_code, ErrorCode::kNone);
  EXPECT_TRUE(topics_.find("n1"));
  CreatePartitionsRequest grows;
  grows.topics = {{"n1", 500, {}}, {"n1", 600, {}}};
  EXPECT_EQ(ask(grows, 3).results.at(1).error_code, ErrorCode::kInvalidRequest);
  AlterConfigsRequest alters;
  alters.resources = {{ResourceType::kTopic, "n1", {}}, {ResourceType::kTopic, "n1", {}}};
  EXPECT_EQ(ask(alters, 2).responses.at(0).error_code, ErrorCode::kInvalidRequest);
  ListOffsetsRequest lists;
  lists.topics.push_back({"n1", {{0, -1, -1, 1}, {0, -1, -1, 1}}});
  const auto listed = ask(lists, 7);
  EXPECT_EQ(listed.topics.at(0).partitions.at(0).error_code, ErrorCode::kNone);
  EXPECT_EQ(listed.topics.at(0).partitions.at(1).error_code, ErrorCode::kInvalidRequest);
}

TEST_F(LongRequestTest, AProduceNamesABoundedNumberOfRecordsHoweverManyBatchesItHas) {
  make_topic("old", 1, {{"message.timestamp.before.max.ms", "1000"}});
  const std::vector<std::string> values(kRecordErrorsMax, "x");
  ProduceRequest request = produce_of("old", batch_with(values, {.codec = Compression::kZstd}));
  request.topics[0].partitions.assign(5'000, request.topics[0].partitions[0]);
  const auto partitions = ask(request, 9).topics.at(0).partitions;
  ASSERT_EQ(partitions.size(), 5'000u);
  std::size_t named = 0;
  std::size_t text = 0;
  for (const ProduceResponse::Partition& partition : partitions) {
    EXPECT_EQ(partition.error_code, ErrorCode::kInvalidTimestamp);
    named += partition.record_errors.size();
    text += partition.error_message.value_or("").size();
  }
  EXPECT_EQ(partitions[0].record_errors.size(), kRecordErrorsMax);
  EXPECT_EQ(named, kRecordErrorsMax);
  EXPECT_TRUE(partitions[1].error_message.has_value());
  EXPECT_LE(text, kErrorTextBytes);
}

TEST_F(LongRequestTest, AProduceToPartitionsThatDoNotStartSaysWhyWithinABound) {
  topics_.starting = true;
  topics_.failed_start = Error(Errc::kCorrupt, std::string(1'000, 'x'));
  ProduceRequest request = produce_of("n0", batch_with({"a"}));
  request.topics[0].partitions.assign(5'000, request.topics[0].partitions[0]);
  const auto partitions = ask(request, 9).topics.at(0).partitions;
  ASSERT_EQ(partitions.size(), 5'000u);
  std::size_t text = 0;
  for (const ProduceResponse::Partition& partition : partitions) {
    EXPECT_NE(partition.error_code, ErrorCode::kNone);
    text += partition.error_message.value_or("").size();
  }
  EXPECT_TRUE(partitions[0].error_message.has_value());
  EXPECT_LE(text, kErrorTextBytes);
}

TEST_F(LongRequestTest, TopicsWhosePartitionsHaveNoRoomAreAnsweredWithAnError) {
  constexpr std::size_t kLarge = 10;
  for (std::size_t i = 0; i < kLarge; ++i) make_topic("z" + std::to_string(i), kLargePartitions);
  const auto response = ask(MetadataRequest{}, 12);
  ASSERT_EQ(response.topics.size(), kExisting + kLarge);
  std::size_t whole = 0;
  for (const MetadataResponse::Topic& topic : response.topics) {
    if (topic.error_code == ErrorCode::kNone) {
      const bool large = topic.name.value_or("").starts_with('z');
      EXPECT_EQ(topic.partitions.size(), large ? kLargePartitions : kPartitions);
      ++whole;
    } else {
      EXPECT_EQ(topic.error_code, ErrorCode::kInvalidRequest);
      EXPECT_TRUE(topic.partitions.empty());
    }
  }
  EXPECT_GE(whole, kExisting);
  EXPECT_LT(whole, kExisting + kLarge);
}

class LittleRoomTest : public KafkaServerTest {
 protected:
  LittleRoomTest() : KafkaServerTest(KafkaOptions{.response_bytes_max = std::size_t{256} << 10}) {}
};

TEST_F(LittleRoomTest, DescribedPartitionsTakeRoomBeforeTheyAreBuilt) {
  make_topic("a", 2'000);
  make_topic("b", 10);
  DescribeTopicPartitionsRequest request;
  const auto whole = ask(request, 0);
  ASSERT_EQ(whole.topics.size(), 2u);
  EXPECT_EQ(whole.topics[0].error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(whole.topics[0].name, "a");
  EXPECT_TRUE(whole.topics[0].partitions.empty());
  EXPECT_EQ(whole.topics[1].partitions.size(), 10u);
  request.response_partition_limit = 100;
  const auto page = ask(request, 0);
  ASSERT_EQ(page.topics.size(), 1u);
  EXPECT_EQ(page.topics[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(page.topics[0].partitions.size(), 100u);
  EXPECT_EQ(page.next_cursor.value_or(PartitionCursor{}).partition_index, 100);
}

}  // namespace
}  // namespace moraine::kafka
