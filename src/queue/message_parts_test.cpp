// Messages in parts: stored as a whole, or not at all.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

TEST(MessageParts, AProducerThatDiesInTheMiddleLeavesNothing) {
  TestQueue queue(1);
  queue.say("before");
  for (std::uint32_t part = 0; part < 3; ++part) {
    ASSERT_EQ(queue.write(TestQueue::part("part", "me", 1, part, 4)).status, WriteStatus::kOk);
  }
  EXPECT_EQ(queue.partition().info().end, 1u) << "the offset is not consumed";
  EXPECT_EQ(queue.keys('x'), 3u);
  queue.crash();
  EXPECT_EQ(queue.keys('x'), 0u) << "orphans go when the partition is loaded";
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"before"}));
  // The producer begins again, and is no duplicate.
  for (std::uint32_t part = 0; part < 2; ++part) {
    ASSERT_EQ(queue.write(TestQueue::part(part == 0 ? "ab" : "c", "me", 1, part, 2)).status,
              WriteStatus::kOk);
  }
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"before", "abc"}));
}

Task<void> write_one(KeyValue& tablet) {
  std::vector<Command> commands{WriteKey{"other", Slice::copy_of("x")}};
  (void)co_await tablet.execute(std::move(commands));
}

Task<WriteAnswer> written(Partition& partition, WriteRequest request) {
  const auto answer = partition.write(std::move(request));
  co_return co_await *answer;
}

TEST(MessageParts, PartsOfAMessageThatFailedAreDeletedByTheNextTransaction) {
  SimWorld world(3);
  TestStorage storage(world);
  LeaderOptions options;
  options.entries_in_flight = 1;  // A queue that is full stays full.
  auto booted = world.run(KeyValue::boot(storage.world(), storage,
                                         TabletInfo::simple(TabletId{77}, kTestGroup, 3), options));
  ASSERT_TRUE(booted);
  KeyValue& tablet = **booted;
  BlobCache cache(1u << 20);
  const auto partition =
      std::make_shared<StoredPartition>(storage.world(), tablet, cache, PartitionSetup{});
  ASSERT_TRUE(world.run(partition->load()));
  const auto parts = [&] { return tablet.list(KeyRange::prefix(key_prefix('x', 0)), 100).size(); };
  world.run(written(*partition, TestQueue::part("part", "me", 1, 0, 4)));
  EXPECT_EQ(parts(), 1u);

  // The tablet's queue is full: the next part is refused, and with it the message.
  TaskScope scope;
  auto& faults = storage.node().disks().drive("device").faults();
  faults.slow_factor = 10'000;
  scope.spawn(write_one(tablet));
  world.run_for(1ms);
  for (std::size_t i = 0; i < kQueuedCommitsMax; ++i) scope.spawn(write_one(tablet));
  const WriteAnswer refused =
      world.run(written(*partition, TestQueue::part("part", "me", 1, 1, 4)));
  EXPECT_EQ(refused.status, WriteStatus::kOverloaded) << refused.detail;
  faults.slow_factor = 1;
  world.run_for(20s);
  EXPECT_EQ(scope.live(), 0u);
  EXPECT_EQ(parts(), 0u);
  world.run(partition->stop());
  world.run(tablet.stop());
  world.shutdown();
}

TEST(MessageParts, BeginningAgainDropsTheEarlierParts) {
  TestQueue queue(2);
  queue.write(TestQueue::part("old", "me", 1, 0, 3));
  queue.write(TestQueue::part("old", "me", 1, 1, 3));
  queue.write(TestQueue::part("new", "me", 1, 0, 2));
  EXPECT_EQ(queue.keys('x'), 1u);
  const WriteAnswer answer = queue.write(TestQueue::part("er", "me", 1, 1, 2));
  EXPECT_EQ(answer.offset, 0u);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"newer"}));
  EXPECT_EQ(queue.keys('x'), 0u);
}

TEST(MessageParts, APartOutOfTurnIsInvalidAndEndsTheMessage) {
  TestQueue queue(3);
  queue.write(TestQueue::part("a", "me", 1, 0, 3));
  EXPECT_EQ(queue.write(TestQueue::part("c", "me", 1, 2, 3)).status, WriteStatus::kInvalid);
  EXPECT_EQ(queue.write(TestQueue::part("b", "me", 1, 1, 3)).status, WriteStatus::kFailedBefore)
      << "it has to begin again";
  EXPECT_EQ(queue.keys('x'), 0u);
  EXPECT_EQ(queue.partition().info().end, 0u);
}

TEST(MessageParts, WhatTheSourceQueuedBehindABrokenMessageFails) {
  TestQueue queue(4);
  queue.write(TestQueue::part("a", "me", 1, 0, 3));
  const auto broken = queue.send(TestQueue::part("c", "me", 1, 2, 3));
  const auto behind = queue.send(TestQueue::message("next", "me", 2));
  const auto other = queue.send(TestQueue::message("other", "you", 1));
  EXPECT_EQ(queue.wait(broken).status, WriteStatus::kInvalid);
  EXPECT_EQ(queue.wait(behind).status, WriteStatus::kFailedBefore)
      << "stored, it would make message 1 a duplicate";
  EXPECT_EQ(queue.wait(other).status, WriteStatus::kOk);
}

TEST(MessageParts, OfSeveralProducersInterleave) {
  TestQueue queue(5);
  std::vector<TestQueue::Answer> answers;
  for (std::uint32_t part = 0; part < 4; ++part) {
    for (const char* source : {"a", "b", "c"}) {
      answers.push_back(
          queue.send(TestQueue::part(std::string(10'000, source[0]), source, 7, part, 4)));
      answers.push_back(queue.send(TestQueue::message("between")));
    }
  }
  for (const auto& answer : answers) ASSERT_EQ(queue.wait(answer).status, WriteStatus::kOk);
  EXPECT_EQ(queue.untidy(), "");
  queue.restart();
  std::multiset<std::size_t> sizes;
  for (const std::string& text : queue.texts()) sizes.insert(text.size());
  EXPECT_EQ(sizes.count(40'000), 3u);
  EXPECT_EQ(sizes.count(7), 12u);
}

TEST(MessageParts, ASentAgainMessageIsADuplicateFromItsFirstPart) {
  TestQueue queue(6);
  queue.write(TestQueue::part("a", "me", 1, 0, 2));
  queue.write(TestQueue::part("b", "me", 1, 1, 2));
  const WriteAnswer again = queue.write(TestQueue::part("a", "me", 1, 0, 2));
  EXPECT_EQ(again.status, WriteStatus::kDuplicate);
  EXPECT_EQ(again.offset, 0u);
  EXPECT_EQ(again.max_number, 1u);
  EXPECT_EQ(queue.write(TestQueue::part("b", "me", 1, 1, 2)).status, WriteStatus::kDuplicate);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"ab"}));
}

TEST(MessageParts, AMessageLongerThanABlobIsReadBackWhole) {
  TestQueue queue(7, {}, TestQueue::kCacheBytes, 32u << 20);
  for (std::uint32_t part = 0; part < 3; ++part) {
    const std::string text(11'000'000, static_cast<char>('a' + part));
    ASSERT_EQ(queue.write(TestQueue::part(text, "me", 1, part, 3)).status, WriteStatus::kOk);
  }
  queue.restart();
  const std::vector<std::string> texts = queue.texts();
  ASSERT_EQ(texts.size(), 1u);
  ASSERT_EQ(texts[0].size(), 33'000'000u);
  EXPECT_EQ(texts[0][10'999'999], 'a');
  EXPECT_EQ(texts[0][11'000'000], 'b');
  EXPECT_EQ(texts[0].back(), 'c');
}

TEST(MessageParts, DeadProducersGiveWayToOthersAfterAWhile) {
  TestQueue queue(8);
  for (std::size_t i = 0; i < kOpenMessagesMax; ++i) {
    queue.write(TestQueue::part("a", fmt::format("dead{}", i), 1, 0, 2));
  }
  EXPECT_EQ(queue.write(TestQueue::part("a", "me", 1, 0, 2)).status, WriteStatus::kOverloaded);
  queue.world.run_for(kOpenMessageIdle);
  EXPECT_EQ(queue.write(TestQueue::part("a", "me", 1, 0, 2)).status, WriteStatus::kOk);
  EXPECT_EQ(queue.write(TestQueue::part("b", "me", 1, 1, 2)).status, WriteStatus::kOk);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"ab"}));
}

}  // namespace
}  // namespace moraine::queue
