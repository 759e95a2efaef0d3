#include "client/topic_batch.h"

#include <gtest/gtest.h>

#include "queue/kafka/key_hash.h"
#include "queue/kafka/records.h"

namespace moraine::client {
namespace {

constexpr std::chrono::milliseconds kNow{1'700'000'000'000};

TopicInfo topic(std::uint32_t partitions, std::map<std::string, std::string> config = {}) {
  TopicInfo info;
  info.name = "orders";
  info.partitions = partitions;
  info.config = std::move(config);
  return info;
}

Result<NewBatch> encode(const TopicInfo& info, std::vector<Message> messages,
                        const MessageWriteOptions& options = {}, std::uint32_t turn = 0) {
  return encode_batch(info, messages, options, kNow, turn);
}

queue::StoredEntry stored(const NewBatch& batch, queue::Offset offset) {
  queue::StoredEntry entry;
  entry.offset = offset;
  entry.count = batch.request.count;
  entry.format = batch.request.format;
  entry.payload = batch.request.payload;
  return entry;
}

std::vector<Message> five() {
  std::vector<Message> messages;
  for (const char* value : {"a", "bb", "ccc", "dddd", "eeeee"}) {
    messages.push_back({.key = "k", .value = value});
  }
  return messages;
}

TEST(TopicBatch, AKafkaBrokerWouldAcceptTheBatch) {
  for (const char* codec : {"producer", "none", "gzip", "snappy", "lz4", "zstd"}) {
    const auto made = encode(topic(1, {{"compression.type", codec}}), five());
    ASSERT_TRUE(made) << made.error().message();
    const auto batch = kafka::single_batch(made->request.payload);
    ASSERT_TRUE(batch) << codec;
    EXPECT_TRUE(kafka::check_produced(*batch, {})) << codec;
    EXPECT_TRUE(kafka::check_records(*batch)) << codec;
    EXPECT_EQ(made->request.count, 5u);
    EXPECT_EQ(made->request.max_timestamp_ms, kNow.count());
    const std::string_view used = kafka::to_string(batch->header.codec());
    EXPECT_EQ(used, std::string_view(codec) == "producer" ? "none" : codec);
  }
}

TEST(TopicBatch, MessagesAreReadAsTheyWereWritten) {
  const std::vector<Message> messages = {
      {.key = "k", .value = "v", .headers = {{"h", "1"}, {"h", std::nullopt}, {"", ""}}},
      {.key = std::nullopt, .value = std::nullopt},
      {.key = "", .value = "", .timestamp = std::chrono::milliseconds(77)}};
  for (const char* codec : {"none", "zstd"}) {
    const auto made = encode(topic(1, {{"compression.type", codec}}), messages, {.partition = 0});
    ASSERT_TRUE(made) << made.error().message();
    BatchReader reader({});
    EXPECT_EQ(reader.add(stored(*made, 40)), true);
    const MessageBatch found = std::move(reader).finish();
    ASSERT_EQ(found.messages.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(found.messages[i].key, messages[i].key);
      EXPECT_EQ(found.messages[i].value, messages[i].value);
      EXPECT_EQ(found.messages[i].headers, messages[i].headers);
      EXPECT_EQ(found.messages[i].offset, 40 + i);
      EXPECT_EQ(found.messages[i].timestamp, messages[i].timestamp.value_or(kNow));
    }
    EXPECT_EQ(found.next_offset, 43u);
  }
}

TEST(TopicBatch, AReadBeginsInsideABatchAndEndsAtItsLimits) {
  const auto made = encode(topic(1), five());
  ASSERT_TRUE(made);
  const auto values = [&](MessageReadOptions options) {
    BatchReader reader(options);
    EXPECT_TRUE(reader.add(stored(*made, 10)).has_value());
    std::string all;
    const MessageBatch found = std::move(reader).finish();
    for (const Message& message : found.messages) all.append(*message.value).append(" ");
    return all + std::to_string(found.next_offset);
  };
  EXPECT_EQ(values({.offset = 0}), "a bb ccc dddd eeeee 15");
  EXPECT_EQ(values({.offset = 12}), "ccc dddd eeeee 15");
  EXPECT_EQ(values({.offset = 12, .messages_max = 2}), "ccc dddd 14");
  EXPECT_EQ(values({.bytes_max = 5}), "a bb 12");  // 2 + 3; the next has 4.
  EXPECT_EQ(values({.bytes_max = 4}), "a 11");
  EXPECT_EQ(values({.offset = 14, .bytes_max = 1}), "eeeee 15");
}

TEST(TopicBatch, APlainMessageIsAValue) {
  queue::StoredEntry entry;
  entry.offset = 3;
  entry.max_timestamp_ms = 9;
  entry.payload = Slice::copy_of("raw");
  BatchReader reader({.offset = 3});
  EXPECT_EQ(reader.add(entry), true);
  const MessageBatch found = std::move(reader).finish();
  ASSERT_EQ(found.messages.size(), 1u);
  EXPECT_EQ(found.messages[0].value, "raw");
  EXPECT_FALSE(found.messages[0].key);
  EXPECT_EQ(found.next_offset, 4u);
}

TEST(TopicBatch, DamageIsCorrupt) {
  const auto made = encode(topic(1), five());
  ASSERT_TRUE(made);
  queue::StoredEntry entry = stored(*made, 0);
  entry.payload = entry.payload.sub(0, entry.payload.size() - 3);
  BatchReader reader({});
  const auto added = reader.add(entry);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::kCorrupt);
}

TEST(TopicBatch, KeysChooseThePartitionAsKafkasClientsDo) {
  const TopicInfo info = topic(7);
  for (const char* key : {"", "abc", "foobar"}) {
    const auto made = encode(info, {{.key = key, .value = "v"}, {.value = "follows"}});
    ASSERT_TRUE(made);
    EXPECT_EQ(static_cast<std::int32_t>(made->partition),
              kafka::partition_of_key(as_bytes(std::string_view(key)), 7));
  }
  EXPECT_EQ(encode(info, {{.key = "abc"}}, {.partition = 6})->partition, 6u);
  EXPECT_EQ(encode(info, {{.value = "v"}}, {}, 9)->partition, 2u);
  const MessageWriteOptions loader{.producer = "loader", .number = 5};
  EXPECT_EQ(encode(info, {{.value = "v"}}, loader, 1)->partition,
            encode(info, {{.value = "v"}}, loader, 2)->partition);
}

void expect_invalid(const Result<NewBatch>& made, std::string_view text) {
  ASSERT_FALSE(made) << text;
  EXPECT_EQ(made.error().code, Errc::kInvalidArgument);
  EXPECT_NE(made.error().context.find(text), std::string::npos) << made.error().context;
}

TEST(TopicBatch, WrongWritesAreRefused) {
  const TopicInfo info = topic(1000);
  expect_invalid(encode(info, {}), "without messages");
  expect_invalid(encode(info, {{.key = "a"}, {.key = "b"}}), "key of message 1");
  expect_invalid(encode(info, {{.value = "v"}}, {.partition = 1000}), "partition 1000");
  expect_invalid(encode(info, {{.value = "v"}}, {.number = 1}), "without a producer");
  const std::string name(3000, 'x');
  expect_invalid(encode(info, {{.value = "v"}}, {.producer = name, .number = 1}), "3000 bytes");
  const std::string big(2 << 20, 'x');
  expect_invalid(encode(info, {{.value = big}}), "max.message.bytes");
  expect_invalid(encode(info, {{.value = "v", .timestamp = std::chrono::milliseconds(-1)}}),
                 "message 0: timestamp -1");
  const TopicInfo bounded = topic(1, {{"message.timestamp.before.max.ms", "1000"}});
  expect_invalid(
      encode(bounded, {{.timestamp = kNow}, {.timestamp = kNow - std::chrono::seconds(2)}}),
      "message 1: timestamp");
  EXPECT_TRUE(encode(bounded, {{.timestamp = kNow - std::chrono::seconds(1)}}));
}

TEST(TopicBatch, AppendTimeReplacesTheTimestamps) {
  const auto made = encode(topic(1, {{"message.timestamp.type", "LogAppendTime"}}),
                           {{.value = "v", .timestamp = std::chrono::milliseconds(5)}});
  ASSERT_TRUE(made);
  BatchReader reader({});
  ASSERT_TRUE(reader.add(stored(*made, 0)));
  EXPECT_EQ(std::move(reader).finish().messages[0].timestamp, kNow);
}

}  // namespace
}  // namespace moraine::client
