#include <gtest/gtest.h>

#include "gateway/kafka/server/server_test_util.h"

namespace moraine::kafka {
namespace {

class ToolRequestsTest : public KafkaServerTest {};

TEST_F(ToolRequestsTest, EveryApiThatIsServedIsOffered) {
  const auto offered = ask(ApiVersionsRequest(), 3).api_keys;
  for (const ApiKey key : {ApiKey::kDescribeAcls, ApiKey::kDescribeLogDirs, ApiKey::kElectLeaders,
                           ApiKey::kListPartitionReassignments, ApiKey::kDescribeClientQuotas,
                           ApiKey::kDescribeUserScramCredentials, ApiKey::kListTransactions,
                           ApiKey::kDescribeTopicPartitions}) {
    EXPECT_EQ(std::ranges::count(offered, key, &ApiVersionsResponse::Range::api_key), 1);
  }
}

TEST_F(ToolRequestsTest, AccessRulesAreSwitchedOff) {
  for (std::int16_t version = 0; version <= 3; ++version) {
    const auto response = ask(DescribeAclsRequest(), version);
    EXPECT_EQ(response.error_code, ErrorCode::kSecurityDisabled);
    EXPECT_TRUE(response.resources.empty());
  }
}

TEST_F(ToolRequestsTest, LogDirsGiveTheSizeOfPartitions) {
  make_topic("a", 2).store_batch(batch_with({"x"}));
  make_topic("b");
  for (std::int16_t version = 0; version <= 4; ++version) {
    const auto all = ask(DescribeLogDirsRequest(), version).results.at(0);
    ASSERT_EQ(all.topics.size(), 2u);
    ASSERT_EQ(all.topics[0].partitions.size(), 2u);
    EXPECT_GT(all.topics[0].partitions[0].partition_size, 0);
    EXPECT_EQ(all.topics[0].partitions[1].partition_size, 0);
  }
  DescribeLogDirsRequest some;
  some.topics = {{"a", {1, 1, 7}}, {"a", {1}}, {"none", {0}}};
  const auto found = ask(some, 4).results.at(0).topics;
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].partitions.size(), 1u);
  EXPECT_EQ(found[0].partitions[0].partition_index, 1);
}

TEST_F(ToolRequestsTest, ElectionsAreNotNeeded) {
  make_topic("a");
  ElectLeadersRequest request;
  EXPECT_TRUE(ask(request, 2).results.empty());
  request.topics = {{"a", {0, 0, 4}}, {"none", {0}}};
  for (std::int16_t version = 0; version <= 2; ++version) {
    const auto results = ask(request, version).results;
    ASSERT_EQ(results.size(), 2u);
    ASSERT_EQ(results[0].partitions.size(), 2u);
    EXPECT_EQ(results[0].partitions[0].error_code, ErrorCode::kElectionNotNeeded);
    EXPECT_EQ(results[0].partitions[1].error_code, ErrorCode::kUnknownTopicOrPartition);
    EXPECT_EQ(results[1].partitions[0].error_code, ErrorCode::kUnknownTopicOrPartition);
  }
}

TEST_F(ToolRequestsTest, ThereAreNoReassignmentsQuotasUsersAndTransactions) {
  make_topic("a");
  EXPECT_TRUE(ask(ListPartitionReassignmentsRequest(), 0).topics.empty());
  const auto quotas = ask(DescribeClientQuotasRequest(), 1);
  EXPECT_TRUE(quotas.entries && quotas.entries->empty());
  DescribeUserScramCredentialsRequest users;
  EXPECT_TRUE(ask(users, 0).results.empty());
  users.users = {{"ann"}, {"bob"}, {"ann"}};
  const auto results = ask(users, 0).results;
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].error_code, ErrorCode::kDuplicateResource);
  EXPECT_EQ(results[1].error_code, ErrorCode::kResourceNotFound);
  ListTransactionsRequest transactions;
  transactions.state_filters = {"Ongoing", "Sleeping", "Sleeping"};
  for (const std::int16_t version : {0, 1}) {
    const auto listed = ask(transactions, version);
    EXPECT_TRUE(listed.transactions.empty());
    EXPECT_EQ(listed.unknown_state_filters, std::vector<std::string>{"Sleeping"});
  }
}

TEST_F(ToolRequestsTest, PartitionsAreDescribedInPages) {
  make_topic("a", 3);
  make_topic("b", 2);
  DescribeTopicPartitionsRequest request;
  request.response_partition_limit = 2;
  std::vector<std::string> seen;
  int pages = 0;
  while (true) {
    ++pages;
    const auto page = ask(request, 0);
    for (const auto& topic : page.topics) {
      EXPECT_EQ(topic.error_code, ErrorCode::kNone);
      EXPECT_EQ(topic.topic_id, to_uuid(topics_.find(*topic.name)->id));
      for (const auto& partition : topic.partitions) {
        seen.push_back(*topic.name + std::to_string(partition.partition_index));
        EXPECT_EQ(partition.leader_id, 1);
        EXPECT_EQ(partition.isr_nodes, std::vector<std::int32_t>{1});
      }
    }
    if (!page.next_cursor) break;
    request.cursor = page.next_cursor;
    ASSERT_LT(pages, 10);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"a0", "a1", "a2", "b0", "b1"}));
  EXPECT_EQ(pages, 3);
}

TEST_F(ToolRequestsTest, DescribedTopicsMayBeMissingAndNamedTwice) {
  make_topic("a");
  DescribeTopicPartitionsRequest request;
  request.topics = {{"none"}, {"a"}, {"a"}, {"a b"}};
  request.response_partition_limit = -5;
  const auto topics = ask(request, 0).topics;
  ASSERT_EQ(topics.size(), 3u);
  EXPECT_EQ(topics[0].name, "a");
  EXPECT_EQ(topics[1].error_code, ErrorCode::kInvalidTopic);
  EXPECT_EQ(topics[2].error_code, ErrorCode::kUnknownTopicOrPartition);
  request.cursor = PartitionCursor{"a", -7};
  EXPECT_EQ(ask(request, 0).topics.at(0).partitions.size(), 1u);
  request.cursor = PartitionCursor{"a", 900};
  EXPECT_TRUE(ask(request, 0).topics.at(0).partitions.empty());
}

TEST_F(ToolRequestsTest, NewerVersionsOfOldCalls) {
  FakePartition& partition = make_topic("t");
  for (int i = 0; i < 3; ++i) partition.store_batch(batch_with({"a"}));
  world_.run(partition.trim(2));
  ListOffsetsRequest offsets;
  offsets.topics.push_back({"t", {{0, -1, kEarliestLocalOffset, 1}}});
  EXPECT_EQ(ask(offsets, 8).topics.at(0).partitions.at(0).offset, 2);
  DescribeClusterRequest cluster;
  EXPECT_EQ(ask(cluster, 1).brokers.size(), 1u);
  cluster.endpoint_type = EndpointType::kControllers;
  EXPECT_EQ(ask(cluster, 1).error_code, ErrorCode::kMismatchedEndpointType);
  cluster.endpoint_type = EndpointType{9};
  EXPECT_EQ(ask(cluster, 1).error_code, ErrorCode::kUnsupportedEndpointType);
  groups_.known["g"] = "t";
  ListGroupsRequest groups;
  ASSERT_EQ(ask(groups, 5).groups.size(), 1u);
  EXPECT_EQ(ask(groups, 5).groups[0].group_type, "Classic");
  groups.types_filter = {"classic"};
  EXPECT_EQ(ask(groups, 5).groups.size(), 1u);
  groups.types_filter = {"consumer"};
  EXPECT_TRUE(ask(groups, 5).groups.empty());
}

}  // namespace
}  // namespace moraine::kafka
