#include "scheme/topic_record.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/sealed.h"
#include "queue/partition.h"

namespace moraine {
namespace {

constexpr GroupId kGroups[] = {{10}, {20}};

TopicRecord some_topic() {
  TopicRecord record;
  record.info.partitions = 40;
  record.info.config = {{"retention.bytes", "100"}, {"retention.ms", "-1"}};
  record.info.consumers = {{"a", {true}}, {"b", {false}}};
  record.tablets = spread({}, 40, 16, TabletId{500}, kGroups);
  return record;
}

PathNode node_of(const TopicRecord& record) {
  PathNode node;
  node.path = "team/orders";
  node.id[0] = 7;
  node.created_ms = 99;
  node.record = encode_topic(record);
  return node;
}

TEST(TopicRecordTest, KeepEverything) {
  const TopicRecord record = some_topic();
  const auto decoded = decode_topic(node_of(record));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->info.name, "team/orders");
  EXPECT_EQ(decoded->info.id[0], 7);
  EXPECT_EQ(decoded->info.created_ms, 99u);
  EXPECT_EQ(decoded->info.partitions, 40u);
  EXPECT_EQ(decoded->info.config, record.info.config);
  EXPECT_EQ(decoded->info.consumers, record.info.consumers);
  ASSERT_EQ(decoded->tablets.size(), 3u);
  EXPECT_EQ(decoded->tablets[2].partitions, 8u);
  EXPECT_EQ(decoded->tablets[1].info.id, TabletId{501});
  EXPECT_EQ(decoded->tablets[1].info.channels, record.tablets[1].info.channels);
}

TEST(TopicRecordTest, AnyFlippedBitIsFound) {
  PathNode node = node_of(some_topic());
  const Slice good = node.record;
  for (std::size_t at = 0; at < good.size(); ++at) {
    Encoder bad;
    bad.raw(good);
    bad.span()[at] ^= std::byte{64};
    node.record = bad.slice();
    const auto decoded = decode_topic(node);
    ASSERT_FALSE(decoded) << at;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt) << at;
  }
}

TEST(TopicRecordTest, AConfigThatWasAcceptedOnceIsStillRead) {
  TopicRecord record = some_topic();
  record.info.config["min.insync.replicas"] = "2";
  const auto decoded = decode_topic(node_of(record));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->info.config.at("min.insync.replicas"), "2");
}

TEST(TopicRecordTest, WhatNoTopicMayHaveIsCorrupt) {
  TopicRecord unknown_config = some_topic();
  unknown_config.info.config["no.such"] = "1";
  EXPECT_EQ(decode_topic(node_of(unknown_config)).error().code, Errc::kCorrupt);
  TopicRecord no_tablets = some_topic();
  no_tablets.tablets.clear();
  EXPECT_EQ(decode_topic(node_of(no_tablets)).error().code, Errc::kCorrupt);
  TopicRecord empty_tablet = some_topic();
  empty_tablet.tablets[0].partitions = 0;
  EXPECT_EQ(decode_topic(node_of(empty_tablet)).error().code, Errc::kCorrupt);
}

TEST(TopicRecordTest, TheLargestTopicFits) {
  TopicRecord record = some_topic();
  record.tablets = spread({}, kPartitionsPerTopicMax, 16, TabletId{500}, kGroups);
  for (std::size_t i = 0; i < kTopicConsumersMax; ++i) {
    std::string name(queue::kConsumerNameBytesMax, 'c');
    name.replace(0, 5, std::to_string(10'000 + i));
    record.info.consumers[name] = {};
  }
  record.info.consumers.erase("a");
  record.info.consumers.erase("b");
  EXPECT_LE(encode_topic(record).size(), kRecordBytesMax);
  EXPECT_TRUE(decode_topic(node_of(record)));
}

}  // namespace
}  // namespace moraine
