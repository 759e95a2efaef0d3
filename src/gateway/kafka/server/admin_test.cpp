#include <gtest/gtest.h>

#include "gateway/kafka/server/server_test_util.h"

namespace moraine::kafka {
namespace {

class AdminTest : public KafkaServerTest {
 protected:
  using KafkaServerTest::KafkaServerTest;

  MetadataResponse metadata(std::optional<std::vector<std::string>> names, bool create,
                            std::int16_t version = 9) {
    MetadataRequest request;
    if (names) request.topics.emplace();
    if (names) {
      for (const std::string& name : *names) request.topics->push_back({{}, name});
    }
    request.allow_auto_topic_creation = create;
    return ask(request, version);
  }
  CreateTopicsResponse::Topic create(const std::string& name, std::int32_t partitions,
                                     std::int16_t replicas = -1,
                                     std::vector<CreateTopicsRequest::Config> configs = {},
                                     bool only_check = false) {
    CreateTopicsRequest request;
    CreateTopicsRequest::Topic topic;
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = replicas;
    topic.configs = std::move(configs);
    request.topics.push_back(topic);
    request.validate_only = only_check;
    return ask(request, 7).topics.at(0);
  }
  ErrorCode grow(const std::string& name, std::int32_t count) {
    CreatePartitionsRequest request;
    request.topics.push_back({name, count, {}});
    return ask(request, 3).results.at(0).error_code;
  }
};

TEST_F(AdminTest, MetadataNamesTheOneBrokerAndAllOrNoTopics) {
  make_topic("b", 2);
  make_topic("a");
  for (std::int16_t version = 0; version <= 12; ++version) {
    const auto all = metadata(std::nullopt, false, version);
    ASSERT_EQ(all.brokers.size(), 1u);
    EXPECT_EQ(all.brokers[0].host, "127.0.0.1");
    EXPECT_EQ(all.topics.size(), 2u);
    EXPECT_EQ(all.topics[1].partitions.size(), 2u);
    EXPECT_EQ(all.topics[1].partitions[1].leader_id, 1);
    if (version >= 1) EXPECT_EQ(all.controller_id, 1);
    if (version >= 1)
      EXPECT_TRUE(metadata(std::vector<std::string>{}, false, version).topics.empty());
  }
}

TEST_F(AdminTest, MetadataCreatesATopicOnlyWhenAsked) {
  auto answer = metadata(std::vector<std::string>{"new", "new"}, false);
  ASSERT_EQ(answer.topics.size(), 1u);
  EXPECT_EQ(answer.topics[0].error_code, ErrorCode::kUnknownTopicOrPartition);
  answer = metadata(std::vector<std::string>{"new", "a b"}, true);
  EXPECT_EQ(answer.topics[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.topics[0].partitions.size(), 1u);
  EXPECT_EQ(answer.topics[1].error_code, ErrorCode::kInvalidTopic);
  EXPECT_NE(topics_.find("new"), nullptr);
}

TEST_F(AdminTest, MetadataOfANameThatCannotBeATopicIsNotRetriedAndLogged) {
  ScopedLogCapture log;
  topics_.failed_create = Error{Errc::kAlreadyExists, "'/team' is a directory"};
  EXPECT_EQ(metadata(std::vector<std::string>{"team"}, true).topics.at(0).error_code,
            ErrorCode::kInvalidTopic);
  EXPECT_TRUE(logged(log, "reason=\"no topic team: '/team' is a directory\""));
  topics_.failed_create = Error{Errc::kInvalidArgument, "'/t' is a topic, not a directory"};
  EXPECT_EQ(metadata(std::vector<std::string>{"t/u"}, true).topics.at(0).error_code,
            ErrorCode::kInvalidTopic);
  for (const Errc code : {Errc::kOverloaded, Errc::kNotHere}) {
    topics_.failed_create = Error{code, ""};
    EXPECT_EQ(metadata(std::vector<std::string>{"new"}, true).topics.at(0).error_code,
              ErrorCode::kLeaderNotAvailable);
  }
}

TEST_F(AdminTest, MetadataFindsTopicsById) {
  make_topic("t");
  MetadataRequest request;
  request.topics.emplace();
  request.topics->push_back({to_uuid(topics_.find("t")->id), std::nullopt});
  request.topics->push_back({Uuid{{std::byte{9}}}, std::nullopt});
  for (const std::int16_t version : {10, 12}) {
    const auto answer = ask(request, version);
    EXPECT_EQ(answer.topics.at(0).name, "t");
    EXPECT_EQ(answer.topics.at(1).error_code, ErrorCode::kUnknownTopicId);
  }
}

TEST_F(AdminTest, MetadataByIdIgnoresTheName) {
  make_topic("t");
  make_topic("other");
  const Uuid id = to_uuid(topics_.find("t")->id);
  const Uuid unknown{{std::byte{9}}};
  for (const std::string& name : {std::string(), std::string("other"), std::string("a b")}) {
    for (const std::int16_t version : {10, 11, 12}) {
      SCOPED_TRACE(name + " in version " + std::to_string(version));
      MetadataRequest request;
      request.topics.emplace();
      request.topics->push_back({id, name});
      request.topics->push_back({unknown, name});
      const auto answer = ask(request, version);
      ASSERT_EQ(answer.topics.size(), 2u);
      EXPECT_EQ(answer.topics[0].error_code, ErrorCode::kNone);
      EXPECT_EQ(answer.topics[0].name, "t");
      EXPECT_EQ(answer.topics[0].topic_id, id);
      EXPECT_EQ(answer.topics[1].error_code, ErrorCode::kUnknownTopicId);
      EXPECT_EQ(answer.topics[1].topic_id, unknown);
    }
  }
}

class NoAutoCreateTest : public AdminTest {
 protected:
  NoAutoCreateTest() : AdminTest(KafkaOptions{.auto_create_topics = false}) {}
};

TEST_F(NoAutoCreateTest, MetadataDoesNotCreateWhatTheServerForbids) {
  EXPECT_EQ(metadata(std::vector<std::string>{"new"}, true).topics[0].error_code,
            ErrorCode::kUnknownTopicOrPartition);
}

TEST_F(AdminTest, TopicsAreCreatedAfterTheChecksOfKafka) {
  const auto made = create("t", 3, 1, {{"retention.ms", "1000"}});
  EXPECT_EQ(made.error_code, ErrorCode::kNone);
  EXPECT_EQ(made.num_partitions, 3);
  EXPECT_FALSE(made.topic_id.is_zero());
  EXPECT_FALSE(made.configs->empty());
  EXPECT_EQ(create("t", 1).error_code, ErrorCode::kTopicAlreadyExists);
  EXPECT_EQ(create("a b", 1).error_code, ErrorCode::kInvalidTopic);
  EXPECT_EQ(create("n", 0).error_code, ErrorCode::kInvalidPartitions);
  EXPECT_EQ(create("n", 1, 3).error_code, ErrorCode::kInvalidReplicationFactor);
  EXPECT_EQ(create("n", 1, 1, {{"no.such", "1"}}).error_code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(create("n", 1, 1, {{"retention.ms", "x"}}).error_code, ErrorCode::kInvalidConfig);
  EXPECT_EQ(create("n", 1, 1, {}, true).error_code, ErrorCode::kNone);
  EXPECT_EQ(topics_.find("n"), nullptr);
  CreateTopicsRequest twice;
  twice.topics.resize(2);
  twice.topics[0].name = twice.topics[1].name = "n";
  for (const auto& topic : ask(twice, 4).topics) {
    EXPECT_EQ(topic.error_code, ErrorCode::kInvalidRequest);
  }
}

TEST_F(AdminTest, TopicsAreDeletedByNameAndById) {
  make_topic("a");
  make_topic("b");
  DeleteTopicsRequest request;
  request.topics.push_back({"a", {}});
  request.topics.push_back({std::nullopt, to_uuid(topics_.find("b")->id)});
  request.topics.push_back({"c", {}});
  request.topics.push_back({std::nullopt, Uuid{{std::byte{9}}}});
  const auto response = ask(request, 6);
  EXPECT_EQ(response.topics[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.topics[1].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.topics[1].name, "b");
  EXPECT_EQ(response.topics[2].error_code, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(response.topics[3].error_code, ErrorCode::kUnknownTopicId);
  EXPECT_TRUE(topics_.list().empty());
}

TEST_F(AdminTest, PartitionsOnlyGrowInNumber) {
  make_topic("t", 2);
  EXPECT_EQ(grow("t", 4), ErrorCode::kNone);
  EXPECT_EQ(grow("t", 3), ErrorCode::kInvalidPartitions);
  EXPECT_EQ(grow("t", 4), ErrorCode::kInvalidPartitions);
  EXPECT_EQ(grow("x", 4), ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(metadata(std::vector<std::string>{"t"}, false).topics[0].partitions.size(), 4u);
}

TEST_F(AdminTest, RecordsAreDeletedUpToAnOffset) {
  FakePartition& partition = make_topic("t");
  for (int i = 0; i < 5; ++i) partition.store_batch(batch_with({"a"}));
  const auto remove = [&](std::int32_t index, std::int64_t offset) {
    DeleteRecordsRequest request;
    request.topics.push_back({"t", {{index, offset}, {index, offset}}});
    const auto answers = ask(request, 2).topics[0].partitions;
    EXPECT_EQ(answers[1].error_code, ErrorCode::kInvalidRequest) << "named twice";
    return answers[0];
  };
  EXPECT_EQ(remove(0, 2).low_watermark, 2);
  EXPECT_EQ(remove(0, 9).error_code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(remove(0, kHighWatermark).low_watermark, 5);
  EXPECT_EQ(remove(7, 0).error_code, ErrorCode::kUnknownTopicOrPartition);
}

TEST_F(AdminTest, OffsetsAreFoundByTimeDownToTheRecord) {
  FakePartition& partition = make_topic("t");
  partition.store_batch(batch_with({"a", "b", "c"}, {}, 1000), 3, 1002);
  partition.store_batch(batch_with({"d", "e"}, {.codec = Compression::kGzip}, 2000), 2, 2001);
  ListOffsetsRequest request;
  request.topics.push_back({"t", {{}}});
  std::vector<ListOffsetsResponse::Partition> answers;
  for (const std::int64_t time : {-1, -2, -3, 0, 1001, 1500, 2001, 3000, -9}) {
    request.topics[0].partitions[0] = {0, -1, time, 1};
    answers.push_back(ask(request, 7).topics.at(0).partitions.at(0));
  }
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{
      {-1, 5}, {-1, 0}, {2001, 4}, {1000, 0}, {1001, 1}, {2000, 3}, {2001, 4}, {-1, -1}, {-1, -1}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(answers[i].timestamp, expected[i].first) << i;
    EXPECT_EQ(answers[i].offset, expected[i].second) << i;
  }
  EXPECT_EQ(answers.back().error_code, ErrorCode::kInvalidRequest);
  request.topics[0].partitions[0].timestamp = kLatestOffset;
  EXPECT_EQ(ask(request, 0).topics[0].partitions[0].old_style_offsets,
            std::vector<std::int64_t>{5});
}

TEST_F(AdminTest, DeletedRecordsOfABatchAreNotFoundByTimeNorAsTheNewest) {
  FakePartition& partition = make_topic("t");
  BatchBuilder builder({});
  for (const std::int64_t time : {9000, 1000}) {
    Record record;
    record.timestamp = time;
    ASSERT_TRUE(builder.append(record));
  }
  partition.store_batch(std::move(builder).build(), 2, 9000);
  for (const std::int64_t time : {2000, 4000, 3000, 4000}) {
    partition.store_batch(batch_with({"a"}, {}, time), 1, time);
  }
  ListOffsetsRequest request;
  request.topics.push_back({"t", {{}}});
  const auto offsets = [&] {
    std::vector<std::int64_t> all;
    for (const std::int64_t time : {-3, 3500, 8000}) {
      request.topics[0].partitions[0] = {0, -1, time, 1};
      all.push_back(ask(request, 7).topics.at(0).partitions.at(0).offset);
    }
    return all;
  };
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{0, 0, 0}));
  ASSERT_TRUE(world_.run(partition.trim(1)));
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{3, 3, -1}));
  ASSERT_TRUE(world_.run(partition.trim(4)));
  EXPECT_EQ(offsets(), (std::vector<std::int64_t>{5, 5, -1}));
}

TEST_F(AdminTest, LeaderEpochsEndAtTheEnd) {
  make_topic("t").store_batch(batch_with({"a"}));
  OffsetForLeaderEpochRequest request;
  request.topics.push_back({"t", {{0, -1, 0}, {0, -1, 5}, {3, -1, 0}}});
  const auto answers = ask(request, 4).topics[0].partitions;
  EXPECT_EQ(answers[0].end_offset, 1);
  EXPECT_EQ(answers[1].end_offset, -1);
  EXPECT_EQ(answers[2].error_code, ErrorCode::kUnknownTopicOrPartition);
}

TEST_F(AdminTest, CommittedOffsetsAreKeptByThePartitions) {
  make_topic("t", 2);
  OffsetCommitRequest commit;
  commit.group_id = "g";
  commit.topics.push_back({"t", {{0, 7, -1, -1, "note"}, {1, 9, 3, -1, {}}, {2, 1, -1, -1, {}}}});
  commit.topics[0].partitions.push_back({3, 1, -1, -1, std::string(5000, 'x')});
  for (std::int16_t version = 0; version <= 8; ++version) {
    const auto answers = ask(commit, version).topics[0].partitions;
    EXPECT_EQ(answers[0].error_code, ErrorCode::kNone);
    EXPECT_EQ(answers[2].error_code, ErrorCode::kUnknownTopicOrPartition);
    EXPECT_EQ(answers[3].error_code, ErrorCode::kOffsetMetadataTooLarge);
  }
  groups_.commit_verdict = ErrorCode::kIllegalGeneration;
  commit.topics[0].partitions[0].committed_offset = 99;
  EXPECT_EQ(ask(commit, 8).topics[0].partitions[0].error_code, ErrorCode::kIllegalGeneration);
  OffsetFetchRequest fetch;
  fetch.groups.push_back({"g", {{{"t", {0, 1, 5}}, {"nope", {0}}}}});
  for (std::int16_t version = 0; version <= 8; ++version) {
    const auto response = ask(fetch, version);
    const auto& topic = response.groups.at(0).topics.at(0);
    EXPECT_EQ(topic.partitions[0].committed_offset, 7);
    EXPECT_EQ(topic.partitions[0].metadata, "note");
    EXPECT_EQ(topic.partitions[1].committed_offset, 9);
    EXPECT_EQ(topic.partitions[2].committed_offset, -1);
    EXPECT_EQ(topic.partitions[2].error_code, ErrorCode::kNone);
    EXPECT_EQ(response.groups[0].topics.at(1).partitions[0].committed_offset, -1);
  }
  fetch.groups[0].topics.reset();
  EXPECT_EQ(ask(fetch, 8).groups.at(0).topics.at(0).partitions.size(), 2u);
  fetch.groups[0].group_id = "other";
  EXPECT_TRUE(ask(fetch, 7).groups.at(0).topics.empty());
}

TEST_F(AdminTest, OffsetsOfAPartitionThatIsNotThereYetAreNotCalledNone) {
  make_topic("t");
  topics_.starting = true;
  OffsetFetchRequest fetch;
  fetch.groups.push_back({"g", {{{"t", {0}}}}});
  const auto group = ask(fetch, 7).groups.at(0);
  EXPECT_EQ(group.error_code, ErrorCode::kCoordinatorLoadInProgress);
  EXPECT_EQ(group.topics[0].partitions[0].error_code, ErrorCode::kCoordinatorLoadInProgress);
}

TEST_F(AdminTest, GroupsAreDeletedWithTheirOffsets) {
  FakePartition& partition = make_topic("t");
  queue::ConsumerOffset offset;
  offset.consumer = "g";
  world_.run(partition.commit(offset));
  OffsetDeleteRequest forget;
  forget.group_id = "g";
  forget.topics.push_back({"t", {0}});
  EXPECT_EQ(ask(forget, 0).topics.at(0).partitions[0].error_code, ErrorCode::kNone)
      << "a group that has only offsets";
  EXPECT_FALSE(partition.committed("g").has_value());
  EXPECT_EQ(ask(forget, 0).error_code, ErrorCode::kGroupIdNotFound);
  world_.run(partition.commit(offset));
  groups_.known["g"] = "t";
  EXPECT_EQ(ask(forget, 0).topics[0].partitions[0].error_code, ErrorCode::kGroupSubscribedToTopic);
  groups_.known["g"] = "other";
  EXPECT_EQ(ask(forget, 0).topics[0].partitions[0].error_code, ErrorCode::kNone);
  EXPECT_FALSE(partition.committed("g").has_value());
  world_.run(partition.commit(offset));
  DeleteGroupsRequest remove;
  remove.groups = {"g", "h"};
  const auto response = ask(remove, 2);
  EXPECT_EQ(response.results[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(response.results[1].error_code, ErrorCode::kGroupIdNotFound);
  EXPECT_FALSE(partition.committed("g").has_value());
}

TEST_F(AdminTest, ADeletedGroupLosesItsRecordLastSoThatItCanBeDeletedAgain) {
  FakePartition& partition = make_topic("t");
  queue::ConsumerOffset offset;
  offset.consumer = "g";
  world_.run(partition.commit(offset));
  groups_.known["g"] = "t";
  DeleteGroupsRequest request;
  request.groups = {"g"};
  const auto remove = [&] { return ask(request, 2).results.at(0).error_code; };
  groups_.state = "Stable";
  EXPECT_EQ(remove(), ErrorCode::kNonEmptyGroup);
  EXPECT_TRUE(partition.committed("g").has_value());
  groups_.state = "Empty";
  topics_.starting = true;
  EXPECT_EQ(remove(), ErrorCode::kCoordinatorLoadInProgress);
  EXPECT_TRUE(groups_.known.contains("g"));
  topics_.starting = false;
  EXPECT_EQ(remove(), ErrorCode::kNone);
  EXPECT_FALSE(groups_.known.contains("g"));
  EXPECT_FALSE(partition.committed("g").has_value());
  world_.run(partition.commit(offset));
  EXPECT_EQ(remove(), ErrorCode::kNone) << "only offsets";
  EXPECT_FALSE(partition.committed("g").has_value());
  EXPECT_EQ(remove(), ErrorCode::kGroupIdNotFound);
}

TEST_F(AdminTest, CoordinatorsAndProducerIdsAreGivenButNoTransactions) {
  FindCoordinatorRequest find;
  find.keys = {"g"};
  for (std::int16_t version = 0; version <= 4; ++version) {
    EXPECT_EQ(ask(find, version).coordinators.at(0).node_id, 1);
  }
  const ScopedLogCapture log;
  find.key_type = CoordinatorKind::kTransaction;
  // Old clients give up with one code only, new ones show the text with any other.
  const auto old = ask(find, 2).coordinators.at(0);
  EXPECT_EQ(old.error_code, ErrorCode::kTransactionalIdAuthorizationFailed);
  EXPECT_EQ(old.error_message, kNoTransactions);
  const auto refused = ask(find, 4).coordinators.at(0);
  EXPECT_EQ(refused.error_code, ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(refused.error_message, kNoTransactions);
  EXPECT_EQ(log.lines().size(), 2u);
  InitProducerIdRequest init;
  EXPECT_EQ(ask(init, 0).producer_id, 1);
  EXPECT_EQ(ask(init, 4).producer_id, 2);
  producer_ids_.available = false;
  EXPECT_EQ(ask(init, 4).error_code, ErrorCode::kCoordinatorNotAvailable);
  init.transactional_id = "x";
  EXPECT_EQ(ask(init, 4).error_code, ErrorCode::kTransactionalIdAuthorizationFailed);
  ASSERT_EQ(log.lines().size(), 3u);
  EXPECT_NE(log.lines().back().find("transactional.id"), std::string::npos);
  EXPECT_EQ(ask(DescribeClusterRequest{}, 0).brokers.at(0).port, 9092);
}

TEST_F(AdminTest, RequestsAreCounted) {
  ask(ApiVersionsRequest{}, 0);
  metadata(std::vector<std::string>{"none"}, false);
  const std::string text = registry_.expose();
  EXPECT_NE(text.find("moraine_kafka_requests_total{api=\"Metadata\"} 1"), std::string::npos);
  EXPECT_NE(text.find("moraine_kafka_errors_total{error=\"UNKNOWN_TOPIC_OR_PARTITION\"} 1"),
            std::string::npos);
  EXPECT_NE(text.find("moraine_kafka_connections 1"), std::string::npos);
}

}  // namespace
}  // namespace moraine::kafka
