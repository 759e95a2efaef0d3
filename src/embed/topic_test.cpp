// Topics of a database: changes, writes, reads, consumers.

#include "embed/own_node.h"
#include "embed/test_topics.h"
#include "io/run_on.h"
#include "moraine/when_all.h"
#include "queue/kafka/records.h"

namespace moraine {
namespace {

using TopicTest = TopicsTest;

TEST_F(TopicTest, WhatIsWrittenIsRead) {
  const Topic orders = create("orders");
  const auto written = db_->run(
      orders.write({{.key = "ada", .value = "1", .headers = {{"from", "web"}}}, {.value = "2"}}));
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(written->offset, 0u);
  EXPECT_FALSE(written->duplicate);
  EXPECT_EQ(write(orders, "3"), 2u);

  const MessageBatch found = read(orders, {});
  ASSERT_EQ(found.messages.size(), 3u);
  EXPECT_EQ(found.messages[0].key, "ada");
  EXPECT_EQ(found.messages[0].headers, (std::vector<MessageHeader>{{"from", "web"}}));
  EXPECT_GT(found.messages[0].timestamp, std::chrono::milliseconds(0));
  EXPECT_EQ(values(found), "1 2 3");
  EXPECT_EQ(found.next_offset, 3u);
  EXPECT_EQ(found.begin, 0u);
  EXPECT_EQ(found.end, 3u);
  EXPECT_EQ(values(read(orders, {.offset = 1, .messages_max = 1})), "2");
  EXPECT_EQ(values(read(orders, {.offset = 3})), "");
}

TEST_F(TopicTest, EverythingIsThereAfterReopening) {
  {
    const Topic orders = create("team/orders", {.partitions = 3});
    ASSERT_TRUE(db_->run(orders.write({{.value = "a"}}, {.partition = 1})));
    ASSERT_TRUE(db_->run(orders.write({{.value = "b"}}, number(1, 7))));
    ASSERT_TRUE(db_->run(orders.commit("reader", 1, 1, "halfway")));
  }
  for (int round = 0; round < 2; ++round) {
    reopen();
    const Topic orders = topic("team/orders");
    EXPECT_EQ(orders.info().partitions, 3u);
    EXPECT_EQ(values(read(orders, {.partition = 1})), "a b");
    const auto again = db_->run(orders.write({{.value = "b"}}, number(1, 7)));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_TRUE(again->duplicate);
    EXPECT_EQ(again->offset, 1u);
    const auto committed = db_->run(orders.committed("reader", 1));
    ASSERT_TRUE(committed && *committed);
    EXPECT_EQ((*committed)->offset, 1u);
    EXPECT_EQ((*committed)->metadata, "halfway");
  }
}

TEST_F(TopicTest, MetricsHaveWhatWasWrittenReadAndNotRead) {
  const Topic orders = create("team/orders", {.partitions = 2});
  for (const char* value : {"a", "b", "c"}) write(orders, value, {.partition = 1});
  write(orders, "again", number(1, 5));
  write(orders, "again", number(1, 5));
  ASSERT_TRUE(db_->run(orders.commit("reader", 1, 1)));
  EXPECT_EQ(values(read(orders, {.partition = 1, .offset = 1, .messages_max = 1})), "b");
  const std::string text = "\n" + db_->run(db_->metrics());
  const auto has = [&text](const std::string& line) { return text.contains("\n" + line + "\n"); };
  const std::string second = "{topic=\"team/orders\",partition=\"1\"}";
  EXPECT_TRUE(has("moraine_topics 1")) << text;
  EXPECT_TRUE(has("moraine_partitions 2"));
  EXPECT_TRUE(has("moraine_topic_written_messages_total" + second + " 4"));
  EXPECT_TRUE(has("moraine_topic_duplicates_total" + second + " 1"));
  EXPECT_TRUE(has("moraine_topic_end_offset" + second + " 4"));
  EXPECT_TRUE(has("moraine_topic_end_offset{topic=\"team/orders\",partition=\"0\"} 0"));
  EXPECT_TRUE(text.contains("\nmoraine_topic_stored_bytes" + second + " "));
  EXPECT_TRUE(
      has("moraine_topic_lag_messages{topic=\"team/orders\",partition=\"1\","
          "consumer=\"reader\"} 3"));
  EXPECT_TRUE(text.contains("\nmoraine_queue_cache_bytes "));
}

TEST_F(TopicTest, ARepeatedWriteIsStoredOnce) {
  const Topic orders = create("orders");
  const std::vector<Message> three = {{.value = "a"}, {.value = "b"}, {.value = "c"}};
  for (int i = 0; i < 3; ++i) {
    const auto written = db_->run(orders.write(three, number(0, 10)));
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_EQ(written->duplicate, i > 0);
    EXPECT_EQ(written->offset, 0u);
  }
  const auto next = db_->run(orders.write({{.value = "d"}}, number(0, 20)));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->offset, 3u);
  // An older number: a duplicate whose offset is not known any more.
  const auto old = db_->run(orders.write(three, number(0, 10)));
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->duplicate);
  EXPECT_FALSE(old->offset);
  EXPECT_EQ(values(read(orders, {})), "a b c d");
  // Another producer has numbers of its own.
  MessageWriteOptions other = number(0, 1);
  other.producer = "other";
  EXPECT_EQ(db_->run(orders.write({{.value = "e"}}, other))->offset, 4u);
}

TEST_F(TopicTest, ConsumersAndFigures) {
  const Topic orders = create("orders", {.partitions = 2});
  EXPECT_EQ(db_->run(orders.committed("reader", 0)).value(), std::nullopt);
  ASSERT_TRUE(db_->run(orders.write({{.value = "a"}, {.value = "b"}}, {.partition = 1})));
  ASSERT_TRUE(db_->run(orders.commit("reader", 1, 2)));
  ASSERT_TRUE(db_->run(orders.commit("reader", 1, 1)));
  EXPECT_EQ((*db_->run(orders.committed("reader", 1)))->offset, 1u);
  EXPECT_EQ(db_->run(orders.committed("reader", 0)).value(), std::nullopt);
  const auto figures = db_->run(orders.figures(1));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->begin, 0u);
  EXPECT_EQ(figures->end, 2u);
  EXPECT_GT(figures->bytes, 0u);
  EXPECT_EQ(db_->run(orders.figures(0))->end, 0u);
}

TEST_F(TopicTest, TopicsAreCreatedChangedListedAndRemoved) {
  create("b", {.partitions = 2, .config = {{"retention.ms", "1000"}}});
  create("/a");
  expect_error(db_->run(db_->create_topic("b")), Errc::kAlreadyExists);
  std::string names;
  for (const TopicInfo& info : db_->run(db_->list_topics())) names += info.name + " ";
  EXPECT_EQ(names, "a b ");

  const auto changed = db_->run(db_->alter_topic(
      "b", {.partitions = 4,
            .config = {{"retention.ms", std::nullopt}, {"retention.bytes", "1000000"}},
            .consumers = {{"audit", TopicConsumer{.important = true}}}}));
  ASSERT_TRUE(changed) << changed.error().message();
  const Topic b = topic("b");
  EXPECT_EQ(b.info().partitions, 4u);
  EXPECT_EQ(b.info().config, (std::map<std::string, std::string>{{"retention.bytes", "1000000"}}));
  EXPECT_TRUE(b.info().consumers.at("audit").important);
  EXPECT_EQ(write(b, "new partition", {.partition = 3}), 0u);

  ASSERT_TRUE(db_->run(db_->remove_topic("b")));
  expect_error(db_->run(db_->topic("b")), Errc::kNotFound);
  expect_error(db_->run(db_->remove_topic("b")), Errc::kNotFound);
  expect_error(db_->run(b.write({{.value = "late"}})), Errc::kNotFound);
  expect_error(db_->run(b.read({})), Errc::kNotFound);
  // The same name again is another topic.
  create("b");
  expect_error(db_->run(b.figures(0)), Errc::kNotFound);
}

TEST_F(TopicTest, WrongInputIsRefusedWithAText) {
  expect_error(db_->run(db_->topic("none")), Errc::kNotFound, "none");
  expect_error(db_->run(db_->create_topic("a b")), Errc::kInvalidArgument);
  expect_error(db_->run(db_->create_topic("a", {.partitions = 0})), Errc::kInvalidArgument);
  expect_error(db_->run(db_->create_topic("a", {.config = {{"retention.ms", "soon"}}})),
               Errc::kInvalidArgument, "retention.ms");
  const Topic orders = create("orders", {.partitions = 2});
  expect_error(db_->run(db_->alter_topic("orders", {.partitions = 1})), Errc::kInvalidArgument);
  expect_error(db_->run(orders.write({})), Errc::kInvalidArgument, "without messages");
  expect_error(db_->run(orders.write({{.value = "v"}}, {.partition = 2})), Errc::kInvalidArgument,
               "partition 2");
  expect_error(db_->run(orders.read({.partition = 2})), Errc::kInvalidArgument, "partition 2");
  expect_error(db_->run(orders.read({.offset = 1})), Errc::kInvalidArgument, "offset 1");
  expect_error(db_->run(orders.read({.bytes_max = 0})), Errc::kInvalidArgument, "bytes_max");
  expect_error(db_->run(orders.read({.messages_max = kTopicReadMessagesMax + 1})),
               Errc::kInvalidArgument, "messages_max");
  expect_error(db_->run(orders.read({.wait = std::chrono::milliseconds(-1)})),
               Errc::kInvalidArgument, "wait");
  expect_error(db_->run(orders.read({.wait = std::chrono::hours(2)})), Errc::kInvalidArgument,
               "1 hours");
  expect_error(db_->run(orders.commit("", 0, 1)), Errc::kInvalidArgument, "consumer");
  expect_error(db_->run(orders.commit("c", 2, 1)), Errc::kInvalidArgument, "partition 2");
  expect_error(db_->run(orders.commit("c", 0, 1, std::string(5000, 'x'))), Errc::kInvalidArgument,
               "metadata");
  const std::string big(2 << 20, 'x');
  expect_error(db_->run(orders.write({{.value = big}})), Errc::kInvalidArgument,
               "max.message.bytes");
}

TEST_F(TopicTest, ReadsKeepTheirLimits) {
  const Topic orders = create("orders", {.config = {{"compression.type", "zstd"}}});
  const std::string kilobyte(1000, 'x');
  const std::vector<Message> ten(10, Message{.value = kilobyte});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(db_->run(orders.write(ten)));
  std::uint64_t offset = 0;
  std::size_t total = 0;
  while (true) {
    const MessageBatch found = read(orders, {.offset = offset, .bytes_max = 3500});
    if (found.messages.empty()) break;
    EXPECT_EQ(found.messages.size(), 3u - (offset == 99 ? 2 : 0));
    EXPECT_EQ(found.messages[0].offset, offset);
    total += found.messages.size();
    offset = found.next_offset;
  }
  EXPECT_EQ(total, 100u);
  EXPECT_EQ(read(orders, {.messages_max = 15}).messages.size(), 15u);
  EXPECT_EQ(read(orders, {.bytes_max = 1}).messages.size(), 1u);
}

TEST_F(TopicTest, CoroutinesAwaitTheSameCalls) {
  const Topic orders = create("orders", {.partitions = 4});
  const auto write_all = [&]() -> Task<std::size_t> {
    std::vector<Task<Result<Written>>> writes;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const std::string value = std::to_string(i);
      writes.push_back(orders.write({{.value = value}}, {.partition = i % 4}));
    }
    std::size_t stored = 0;
    for (const auto& written : co_await when_all(std::move(writes))) stored += written ? 1 : 0;
    co_return stored;
  };
  EXPECT_EQ(db_->run<std::size_t>(write_all), 64u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read(orders, {.partition = i}).messages.size(), 16u);
  }
}

// Batches as Kafka's door stores them, and what its consumers get.
TEST_F(TopicTest, TheKafkaDoorSharesTheMessages) {
  db_.reset();
  auto node = embed::OwnNode::open(folder_ + "/data", {});
  ASSERT_TRUE(node) << node.error().message();
  Database db = Database::connect((*node)->parts());
  const auto orders = db.run(db.create_topic("orders"));
  ASSERT_TRUE(orders);

  kafka::BatchBuilder produced({.codec = kafka::Compression::kGzip,
                                .producer_id = 5,
                                .producer_epoch = 0,
                                .base_sequence = 0});
  for (const char* value : {"x", "y"}) {
    kafka::Record record;
    record.timestamp = 9;
    record.value = as_bytes(std::string_view(value));
    ASSERT_TRUE(produced.append(record));
  }
  queue::WriteRequest request;
  request.payload = std::move(produced).build();
  request.format = queue::EntryFormat::kKafkaBatch;
  request.count = 2;
  Executor& lane = *(*node)->parts().lanes[0];
  Topics& topics = *(*node)->parts().topics[0];
  const auto on_lane = [&](std::function<Task<void>(queue::Partition&)> body) {
    db.run<void>([&] {
      return run_there(lane, [&] { return body(*topics.partition(orders->info().id, 0)); });
    });
  };
  on_lane([&](queue::Partition& partition) -> Task<void> {
    const auto pending = partition.write(request);
    EXPECT_EQ((co_await *pending).status, queue::WriteStatus::kOk);
  });
  ASSERT_TRUE(db.run(orders->write({{.key = "k", .value = "z"}})));
  const auto found = db.run(orders->read({.offset = 1}));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(values(*found), "y z");
  EXPECT_EQ(found->messages[0].timestamp, std::chrono::milliseconds(9));

  on_lane([&](queue::Partition& partition) -> Task<void> {
    const auto stored = co_await partition.read({.offset = 2, .bytes_max = 1000});
    EXPECT_TRUE(stored && stored->entries.size() == 1);
    const auto batch = kafka::single_batch(stored->entries[0].payload);
    EXPECT_TRUE(batch && kafka::check_produced(*batch, {}) && kafka::check_records(*batch));
    EXPECT_EQ(batch->header.base_offset, 2);
    EXPECT_EQ(batch->header.record_count, 1);
  });
}

}  // namespace
}  // namespace moraine
