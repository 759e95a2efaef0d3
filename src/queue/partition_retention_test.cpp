// What is removed, what is refused, and how a full partition recovers.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

// Every write a blob of its own, in the body.
PartitionConfig tiny_blobs() {
  PartitionConfig config;
  config.low_watermark = 1;
  return config;
}

Task<void> commit_offset(Partition& partition, std::string consumer, Offset offset) {
  (void)co_await partition.commit({std::move(consumer), offset, "", -1, 0});
}

TEST(PartitionRetention, ByTimeOldMessagesGoWithoutAnyWrite) {
  PartitionConfig config = tiny_blobs();
  config.retention_ms = 60'000;
  TestQueue queue(1, config);
  for (int i = 0; i < 5; ++i) queue.say("old");
  queue.world.run_for(30s);
  queue.say("young");
  EXPECT_EQ(queue.partition().info().start, 0u);
  queue.world.run_for(36s);
  EXPECT_EQ(queue.partition().info().start, 5u);
  EXPECT_EQ(queue.read(0).entries.front().offset, 5u) << "below the start: from the start on";
  queue.world.run_for(31s);
  EXPECT_EQ(queue.partition().info().start, 6u);
  EXPECT_EQ(queue.partition().info().end, 6u);
  EXPECT_EQ(queue.keys('d'), 0u);
  queue.restart();
  EXPECT_EQ(queue.say("next").offset, 6u);
}

TEST(PartitionRetention, BySizeTheOldestGo) {
  PartitionConfig config = tiny_blobs();
  config.retention_bytes = 10'000;
  TestQueue queue(2, config);
  for (int i = 0; i < 50; ++i) queue.say(std::string(1'000, 'x'));
  queue.world.run_for(6s);
  const PartitionInfo info = queue.partition().info();
  EXPECT_GE(info.bytes, 10'000u);
  EXPECT_LT(info.bytes, 12'000u);
  EXPECT_EQ(info.removed_messages, info.start);
  EXPECT_EQ(queue.untidy(), "");
}

TEST(PartitionRetention, NeverPassesAnImportantConsumer) {
  PartitionConfig config = tiny_blobs();
  config.retention_ms = 1'000;
  config.retention_bytes = 0;
  config.important_consumers = {"slow", "fast"};
  TestQueue queue(3, config);
  for (int i = 0; i < 10; ++i) queue.say("message");
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 0u) << "nobody has read";
  ASSERT_TRUE(queue.commit("fast", 9));
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 0u) << "one has not read";
  ASSERT_TRUE(queue.commit("slow", 4));
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 4u);
  queue.restart();
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 4u);
  ASSERT_TRUE(queue.commit("slow", 10));
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 9u);
}

TEST(PartitionRetention, AnImportantConsumerPastTheEndHasReadUpToTheEnd) {
  PartitionConfig config = tiny_blobs();
  config.retention_ms = 1'000;
  config.important_consumers = {"reader"};
  TestQueue queue(13, config);
  for (int i = 0; i < 5; ++i) queue.say("message");
  ASSERT_TRUE(queue.commit("reader", 1'000));
  for (int i = 0; i < 5; ++i) queue.say("unread");
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 5u);
  EXPECT_EQ(queue.partition().committed("reader")->offset, 1'000u);
  ASSERT_TRUE(queue.commit("reader", 8));
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 8u);
}

TEST(PartitionRetention, AConsumerThatGoesBackCountsInTheSameTransaction) {
  PartitionConfig config = tiny_blobs();
  config.important_consumers = {"reader"};
  TestQueue queue(4, config);
  for (int i = 0; i < 10; ++i) queue.say("message");
  ASSERT_TRUE(queue.commit("reader", 10));
  config.retention_bytes = 0;
  queue.world.executor().post([&] {
    spawn(commit_offset(queue.partition(), "reader", 3));
    queue.partition().configure(config);  // Everything may go, from the next cycle on.
  });
  queue.world.run_for(1s);
  EXPECT_LE(queue.partition().info().start, 3u);
  queue.world.run_for(20s);
  EXPECT_EQ(queue.partition().info().start, 3u);
}

TEST(PartitionRetention, TrimHidesPartsOfABlobAtOnce) {
  TestQueue queue(5);
  for (int i = 0; i < 10; ++i) queue.say(fmt::format("{}", i));
  EXPECT_EQ(queue.trim(4), 4u);
  EXPECT_EQ(queue.trim(2), 4u) << "never back";
  EXPECT_EQ(queue.trim(11).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"4", "5", "6", "7", "8", "9"}));
  queue.crash();
  EXPECT_EQ(queue.partition().info().start, 4u);
  EXPECT_EQ(queue.texts().size(), 6u);
  EXPECT_EQ(queue.trim(10), 10u);
  queue.crash();
  EXPECT_EQ(queue.partition().info().start, 10u);
  EXPECT_EQ(queue.partition().info().end, 10u);
}

TEST(PartitionRetention, SourcesAreForgottenWhenTheirMessagesAreGone) {
  PartitionConfig config = tiny_blobs();
  config.source_lifetime_ms = 1'000;
  TestQueue queue(6, config);
  queue.say("one", "me", 5);
  queue.world.run_for(10s);
  queue.say("two", "you", 1);
  EXPECT_EQ(queue.partition().info().sources, 2u);
  ASSERT_TRUE(queue.trim(1));
  queue.say("three", "you", 2);
  EXPECT_EQ(queue.partition().info().sources, 1u);
  EXPECT_EQ(queue.keys('s'), 1u);
  EXPECT_EQ(queue.say("again", "me", 1).status, WriteStatus::kOk);
}

TEST(PartitionRetention, SourcesAreForgottenAlsoWhenNobodyWrites) {
  PartitionConfig config = tiny_blobs();
  config.source_lifetime_ms = 60'000;
  TestQueue queue(6, config);
  queue.say("one", "me", 5);
  queue.say("two", "you", 1);
  ASSERT_TRUE(queue.trim(2));
  queue.world.run_for(30s);
  EXPECT_EQ(queue.keys('s'), 2u);
  queue.world.run_for(60s);
  EXPECT_EQ(queue.partition().info().sources, 0u);
  EXPECT_EQ(queue.keys('s'), 0u);
}

TEST(PartitionLimits, ASourceForgottenByCountFailsOnceWithThatReason) {
  PartitionConfig config = tiny_blobs();
  config.sources_max = 2;
  TestQueue queue(6, config);
  queue.say("one", "me", 5);
  queue.say("two", "you", 1);
  queue.say("three", "they", 1);
  queue.world.run_for(10s);
  EXPECT_EQ(queue.partition().info().sources, 2u);
  const WriteAnswer refused = queue.say("five again?", "me", 5);
  EXPECT_EQ(refused.status, WriteStatus::kSourceForgotten);
  EXPECT_EQ(refused.detail, "the source was forgotten: more than 2 have written to the partition");
  EXPECT_EQ(queue.say("seven", "me", 7).status, WriteStatus::kFailedBefore)
      << "stored, it would make message 5 a duplicate";
  EXPECT_EQ(queue.say("five", "me", 5).status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("seven", "me", 7).status, WriteStatus::kOk);
}

TEST(PartitionLimits, FullByCountUntilSomethingIsRemoved) {
  PartitionConfig config = tiny_blobs();
  config.count_max = 5;
  TestQueue queue(7, config);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(queue.say("x").status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("x").status, WriteStatus::kFullByCount);
  ASSERT_TRUE(queue.trim(1));
  EXPECT_EQ(queue.say("x").status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("x").status, WriteStatus::kFullByCount);
}

TEST(PartitionLimits, FullByBytesUntilRetentionMakesRoom) {
  PartitionConfig config = tiny_blobs();
  config.bytes_max = 5'000;
  config.retention_ms = 30'000;
  TestQueue queue(8, config);
  WriteStatus status = WriteStatus::kOk;
  for (int i = 0; i < 10 && status == WriteStatus::kOk; ++i) {
    status = queue.say(std::string(1'000, 'x')).status;
  }
  EXPECT_EQ(status, WriteStatus::kFullByBytes);
  queue.world.run_for(40s);
  EXPECT_EQ(queue.say("room").status, WriteStatus::kOk);
}

TEST(PartitionLimits, WhatWaitsBehindARefusedWriteIsRefusedWithIt) {
  PartitionConfig config = tiny_blobs();
  config.count_max = 1;
  TestQueue queue(9, config);
  queue.say("fills it");
  std::vector<TestQueue::Answer> answers;
  // More than one transaction's worth.
  for (std::uint64_t i = 1; i <= 3; ++i) {
    answers.push_back(queue.send(TestQueue::message(std::string(8'000'000, 'x'), "me", i)));
  }
  while (!answers[0]->ready()) queue.world.run_for(1us);
  ASSERT_TRUE(queue.trim(1));
  for (const auto& answer : answers)
    EXPECT_EQ(queue.wait(answer).status, WriteStatus::kFullByCount);
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kOk);
}

TEST(PartitionLimits, AFullDiskIsReportedUntilSpaceIsFreed) {
  TestQueue queue(10, tiny_blobs());
  const std::string text(500'000, 'x');
  WriteStatus status = WriteStatus::kOk;
  int written = 0;
  for (; written < 200 && status == WriteStatus::kOk; ++written) status = queue.say(text).status;
  ASSERT_EQ(status, WriteStatus::kDiskFull) << to_string(status) << " after " << written;
  EXPECT_EQ(queue.say("small").status, WriteStatus::kDiskFull);
  EXPECT_FALSE(queue.partition().stopped());
  const Offset end = queue.partition().info().end;
  ASSERT_EQ(queue.trim(end), end) << "removing is allowed";
  for (int i = 0; i < 60 && status != WriteStatus::kOk; ++i) {
    queue.world.run_for(2s);
    status = queue.say("small").status;
  }
  EXPECT_EQ(status, WriteStatus::kOk) << to_string(status);
  EXPECT_EQ(queue.texts(end), (std::vector<std::string>{"small"}));
}

TEST(PartitionLimits, AQuotaSpreadsWritesOverTime) {
  PartitionConfig config;
  config.write_bytes_per_second = 100'000;
  TestQueue queue(11, config);
  const Instant begin = queue.world.executor().now();
  std::vector<TestQueue::Answer> answers;
  for (int i = 0; i < 50; ++i) {
    answers.push_back(queue.send(TestQueue::message(std::string(20'000, 'x'))));
    if (i % 5 == 0) queue.world.run_for(10ms);
  }
  for (const auto& answer : answers) ASSERT_EQ(queue.wait(answer).status, WriteStatus::kOk);
  const Duration took = queue.world.executor().now() - begin;
  // 1 MB at 100 kB/s, with a burst of one second, and what was taken together.
  EXPECT_GE(took, 2s);
  EXPECT_LE(took, 12s);
}

TEST(PartitionLimits, AQuotaDoesNotHoldUpConsumers) {
  PartitionConfig config;
  config.write_bytes_per_second = 1'000;
  TestQueue queue(12, config);
  queue.say(std::string(50'000, 'x'));
  const auto waits = queue.send(TestQueue::message("waits"));
  const Instant begin = queue.world.executor().now();
  queue.world.run_for(10ms);
  ASSERT_TRUE(queue.commit("reader", 1));
  EXPECT_LT(queue.world.executor().now() - begin, 50ms);
  EXPECT_FALSE(waits->ready());
  EXPECT_EQ(queue.wait(waits).status, WriteStatus::kOk);
}

TEST(PartitionLimits, AStopDoesNotWaitForTheQuota) {
  PartitionConfig config;
  config.write_bytes_per_second = 1'000;
  TestQueue queue(13, config);
  queue.say(std::string(50'000, 'x'));
  const auto waits = queue.send(TestQueue::message("waits"));
  queue.world.run_for(10ms);
  const Instant begin = queue.world.executor().now();
  queue.stop();
  EXPECT_LT(queue.world.executor().now() - begin, 50ms);
  EXPECT_EQ(queue.wait(waits).status, WriteStatus::kStopped);
}

}  // namespace
}  // namespace moraine::queue
