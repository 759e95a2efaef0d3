#include "queue/stored_partition.h"

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

TEST(StoredPartition, GivesBackWhatWasWrittenInOrder) {
  TestQueue queue(1);
  for (int i = 0; i < 300; ++i) {
    const WriteAnswer answer = queue.say(fmt::format("message {}", i));
    ASSERT_EQ(answer.status, WriteStatus::kOk) << answer.detail;
    ASSERT_EQ(answer.offset, Offset(i));
  }
  const auto check = [&queue] {
    const std::vector<std::string> texts = queue.texts();
    ASSERT_EQ(texts.size(), 300u);
    for (int i = 0; i < 300; ++i) ASSERT_EQ(texts[i], fmt::format("message {}", i));
  };
  check();
  queue.restart();
  check();
  EXPECT_EQ(queue.partition().info().end, 300u);
}

TEST(StoredPartition, BigWritesBecomeBodyBlobsWithoutBeingRewritten) {
  TestQueue queue(2);
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(queue.say(std::string(500'000, static_cast<char>('a' + i % 26))).status,
              WriteStatus::kOk);
  }
  const PartitionInfo info = queue.partition().info();
  EXPECT_EQ(info.rewritten_bytes, 0u);
  EXPECT_GE(info.body_blobs, 2u);
  queue.restart();
  const std::vector<std::string> texts = queue.texts();
  ASSERT_EQ(texts.size(), 40u);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(texts[i], std::string(500'000, static_cast<char>('a' + i % 26)));
  }
}

TEST(StoredPartition, AMessageSentTwiceIsStoredOnceAlsoAfterARestart) {
  TestQueue queue(3);
  EXPECT_EQ(queue.say("one", "me", 1).offset, 0u);
  EXPECT_EQ(queue.say("two", "me", 2).offset, 1u);
  queue.restart();
  const WriteAnswer again = queue.say("two", "me", 2);
  EXPECT_EQ(again.status, WriteStatus::kDuplicate);
  EXPECT_EQ(again.offset, 1u);
  EXPECT_EQ(again.max_number, 2u);
  EXPECT_EQ(queue.say("three", "me", 3).offset, 2u);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST(StoredPartition, AMessageInPartsIsOneMessage) {
  TestQueue queue(4);
  queue.say("before");
  for (std::uint32_t part = 0; part < 3; ++part) {
    WriteRequest request =
        TestQueue::message(std::string(1'000'000, static_cast<char>('a' + part)), "me", 1);
    request.part = part;
    request.parts = 3;
    const WriteAnswer answer = queue.write(std::move(request));
    ASSERT_EQ(answer.status, WriteStatus::kOk) << answer.detail;
    EXPECT_EQ(queue.partition().info().end, part == 2 ? 2u : 1u);
  }
  queue.say("after");
  queue.restart();
  const std::vector<std::string> texts = queue.texts();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[1].size(), 3'000'000u);
  EXPECT_EQ(texts[1][2'500'000], 'c');
  EXPECT_EQ(texts[2], "after");
}

TEST(StoredPartition, ConsumersAndTheStartSurviveARestart) {
  TestQueue queue(5);
  for (int i = 0; i < 10; ++i) queue.say(fmt::format("{}", i));
  ASSERT_TRUE(queue.world.run(queue.partition().commit({"reader", 4, "mark"})));
  EXPECT_EQ(*queue.world.run(queue.partition().trim(3)), 3u);
  queue.restart();
  EXPECT_EQ(queue.partition().committed("reader")->offset, 4u);
  EXPECT_EQ(queue.partition().committed("reader")->metadata, "mark");
  EXPECT_EQ(queue.partition().info().start, 3u);
  EXPECT_EQ(*queue.world.run(queue.partition().trim(10)), 10u);
  queue.restart();
  EXPECT_EQ(queue.partition().info().start, 10u);
  EXPECT_EQ(queue.say("next").offset, 10u);
}

}  // namespace
}  // namespace moraine::queue
