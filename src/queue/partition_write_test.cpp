// Writing: order, duplicates, and what happens behind a write that fails.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

TEST(PartitionWrite, AnswersComeInTheOrderOfTheCallsWithDenseOffsets) {
  TestQueue queue(1);
  std::vector<TestQueue::Answer> answers;
  for (int i = 0; i < 500; ++i) {
    WriteRequest request = TestQueue::message(std::string(i % 50, 'x'));
    request.count = 1 + i % 3;
    answers.push_back(queue.send(std::move(request)));
  }
  Offset next = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const WriteAnswer answer = queue.wait(answers[i]);
    ASSERT_EQ(answer.status, WriteStatus::kOk);
    ASSERT_EQ(answer.offset, next);
    next += 1 + i % 3;
  }
  EXPECT_EQ(queue.partition().info().end, next);
  EXPECT_EQ(queue.untidy(), "");
}

TEST(PartitionWrite, NothingIsVisibleBeforeItIsAnswered) {
  TestQueue queue(2);
  const TestQueue::Answer answer = queue.send(TestQueue::message("hello"));
  while (!answer->ready()) {
    EXPECT_EQ(queue.partition().info().end, 0u);
    EXPECT_FALSE(queue.world.run(queue.partition().read({1, 100})));
    queue.world.run_for(10us);
  }
  EXPECT_EQ(queue.partition().info().end, 1u);
}

TEST(PartitionWrite, ADuplicateInsideOneBatchIsAnsweredWithItsOriginal) {
  TestQueue queue(3);
  const auto first = queue.send(TestQueue::message("one", "me", 1));
  const auto again = queue.send(TestQueue::message("one", "me", 1));
  const auto second = queue.send(TestQueue::message("two", "me", 2));
  const WriteAnswer duplicate = queue.wait(again);
  EXPECT_TRUE(first->ready()) << "the original is durable first";
  EXPECT_EQ(duplicate.status, WriteStatus::kDuplicate);
  EXPECT_EQ(duplicate.offset, 0u);
  EXPECT_EQ(duplicate.max_number, 1u);
  EXPECT_EQ(queue.wait(second).offset, 1u);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(queue.partition().info().duplicates, 1u);
}

TEST(PartitionWrite, AnOlderDuplicateIsAnsweredWithoutTheOffsetOfTheNewest) {
  TestQueue queue(3);
  for (std::uint64_t number = 1; number <= 3; ++number) queue.say("x", "me", number);
  for (int life = 0; life < 2; ++life) {
    for (std::uint64_t number = 1; number <= 3; ++number) {
      const WriteAnswer answer = queue.say("again", "me", number);
      EXPECT_EQ(answer.status, WriteStatus::kDuplicate);
      EXPECT_EQ(answer.offset, number == 3 ? std::optional<Offset>(2) : std::nullopt) << number;
      EXPECT_EQ(answer.max_number, 3u);
    }
    queue.restart();
  }
  // Also where the newer one is in the same batch.
  const auto fourth = queue.send(TestQueue::message("four", "me", 4));
  const auto fifth = queue.send(TestQueue::message("five", "me", 5));
  const auto again = queue.send(TestQueue::message("four", "me", 4));
  EXPECT_EQ(queue.wait(fourth).offset, 3u);
  EXPECT_EQ(queue.wait(fifth).offset, 4u);
  EXPECT_EQ(queue.wait(again).status, WriteStatus::kDuplicate);
  EXPECT_EQ(queue.wait(again).offset, std::nullopt);
}

TEST(PartitionWrite, RandomNumbersWithRetriesAndRestartsGrowAndAreThereOnce) {
  TestQueue queue(4);
  SeededRandom random(4);
  std::map<std::string, std::uint64_t> newest;
  std::vector<std::string> expected;
  for (int i = 0; i < 400; ++i) {
    const std::string source(1, static_cast<char>('a' + random.below(4)));
    const std::uint64_t number = 1 + random.below(newest[source] + 4);
    const std::string text = fmt::format("{} {} {}", source, number, i);
    const WriteAnswer answer = queue.say(text, source, number);
    ASSERT_EQ(answer.status, number > newest[source] ? WriteStatus::kOk : WriteStatus::kDuplicate);
    if (answer.status == WriteStatus::kOk) expected.push_back(text);
    newest[source] = std::max(newest[source], number);
    ASSERT_EQ(answer.max_number, newest[source]);
    if (random.one_in(40)) queue.restart();
  }
  EXPECT_EQ(queue.texts(), expected);
}

TEST(PartitionWrite, ASequenceWindowSurvivesARestart) {
  TestQueue queue(5);
  for (std::uint32_t i = 0; i < 7; ++i) {
    WriteRequest request = TestQueue::message("x");
    request.producer = {"kafka", Numbering::kSequence, i, 2};
    ASSERT_EQ(queue.write(std::move(request)).status, WriteStatus::kOk);
  }
  queue.restart();
  for (std::uint32_t i = 2; i < 7; ++i) {
    WriteRequest request = TestQueue::message("x");
    request.producer = {"kafka", Numbering::kSequence, i, 2};
    const WriteAnswer answer = queue.write(std::move(request));
    EXPECT_EQ(answer.status, WriteStatus::kDuplicate);
    EXPECT_EQ(answer.offset, i);
  }
}

TEST(PartitionWrite, AFailedWriteFailsEverythingQueuedBehindIt) {
  TestQueue queue(6);
  queue.say("before", "me", 1);
  // Another incarnation takes over; this one does not know yet.
  auto other = queue.boot_another();
  const auto first = queue.send(TestQueue::message("first", "me", 2));
  queue.world.run_for(1us);  // It is in flight.
  std::vector<TestQueue::Answer> behind;
  for (std::uint64_t i = 0; i < 20; ++i) {
    behind.push_back(queue.send(TestQueue::message("behind", "me", 3 + i)));
  }
  EXPECT_EQ(queue.wait(first).status, WriteStatus::kUnknown);
  for (const auto& answer : behind) {
    const WriteStatus status = queue.wait(answer).status;
    EXPECT_TRUE(status == WriteStatus::kFailedBefore || status == WriteStatus::kStopped)
        << to_string(status);
  }
  EXPECT_TRUE(queue.partition().stopped());
  EXPECT_EQ(queue.say("late", "me", 99).status, WriteStatus::kStopped);
  // The leader has nothing of it.
  queue.stop();
  queue.tablet = std::move(other);
  EXPECT_EQ(queue.say("first", "me", 2).status, WriteStatus::kOk);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"before", "first"}));
}

TEST(PartitionWrite, AReplacedIncarnationNotifiesItsOwner) {
  TestQueue queue(7);
  int ended = 0;
  queue.tablet->on_end([&ended] { ++ended; });
  auto other = queue.boot_another();
  queue.say("too late");
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(queue.world.run(queue.partition().read({0, 100})));
  EXPECT_FALSE(queue.commit("reader", 0));
  EXPECT_FALSE(queue.trim(0));
  queue.stop();
  queue.tablet = std::move(other);
}

TEST(PartitionWrite, AReplacedIncarnationReportsNoWriteAsOutOfOrder) {
  TestQueue queue(12);
  const auto batch = [](std::uint32_t sequence) {
    WriteRequest request = TestQueue::message("x");
    request.producer = {"kafka", Numbering::kSequence, sequence, 0};
    return request;
  };
  queue.write(batch(0));
  auto other = queue.boot_another();
  EXPECT_EQ(queue.wait(other->partition(0)->write(batch(1))).status, WriteStatus::kOk);
  EXPECT_EQ(queue.write(batch(2)).status, WriteStatus::kUnknown) << "it does not know of 1";
  EXPECT_EQ(queue.wait(other->partition(0)->write(batch(2))).status, WriteStatus::kOk);
  EXPECT_EQ(queue.wait(other->partition(0)->write(batch(9))).status, WriteStatus::kOutOfOrder);
  queue.stop();
  queue.tablet = std::move(other);
}

TEST(PartitionWrite, ThousandsOfSourcesAndLongNamesFitTheirTransactions) {
  TestQueue queue(8, {}, TestQueue::kCacheBytes, 32u << 20);
  std::vector<TestQueue::Answer> answers;
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    std::string source = fmt::format("{:06}", i);
    if (i < 5'000) source.resize(kSourceIdBytesMax, 'x');
    answers.push_back(queue.send(TestQueue::message("", std::move(source), 1)));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const WriteAnswer answer = queue.wait(answers[i]);
    ASSERT_EQ(answer.status, WriteStatus::kOk) << i << " " << answer.detail;
  }
  EXPECT_EQ(queue.partition().info().sources, 12'000u);
  queue.restart();
  EXPECT_EQ(queue.partition().info().sources, 12'000u);
}

TEST(PartitionWrite, WhatCannotBeStoredIsCalledInvalid) {
  TestQueue queue(9);
  const auto status = [&queue](auto change) {
    WriteRequest request = TestQueue::message("some text of a message", "me", 1);
    change(request);
    return queue.write(std::move(request)).status;
  };
  EXPECT_EQ(status([](WriteRequest& r) { r.count = 0; }), WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.count = kEntryMessagesMax + 1; }),
            WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.producer.source_id.clear(); }), WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.producer.source_id.resize(kSourceIdBytesMax + 1); }),
            WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.payload = Buffer(kPayloadBytesMax + 1).freeze(); }),
            WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.part = 1; }), WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) { r.parts = kMessagePartsMax + 1; }), WriteStatus::kInvalid);
  EXPECT_EQ(
      status([](WriteRequest& r) { r.producer = {"k", Numbering::kSequence, 1ull << 31, 0}; }),
      WriteStatus::kInvalid);
  EXPECT_EQ(status([](WriteRequest& r) {
              r.format = EntryFormat::kKafkaBatch;
              r.payload = Slice::copy_of("short");
            }),
            WriteStatus::kInvalid);
  EXPECT_EQ(queue.partition().info().end, 0u);
}

TEST(PartitionWrite, TooMuchWaitingIsOverloadUntilNothingWaits) {
  TestQueue queue(10);
  const Slice big = Buffer::zeroed(20u << 20).freeze();
  std::vector<TestQueue::Answer> answers;
  for (int i = 0; i < 8; ++i) {
    WriteRequest request;
    request.payload = i < 7 ? big : Slice::copy_of("small");
    answers.push_back(queue.send(std::move(request)));
  }
  EXPECT_EQ(queue.wait(answers[6]).status, WriteStatus::kOverloaded);
  EXPECT_EQ(queue.wait(answers[7]).status, WriteStatus::kOverloaded)
      << "it must not pass the one that was refused";
}

TEST(PartitionWrite, RecordBatchesKeepTheirBytesButForTheOffset) {
  TestQueue queue(11);
  for (int i = 0; i < 3; ++i) {
    WriteRequest request = TestQueue::message(std::string(80, static_cast<char>('a' + i)));
    request.format = EntryFormat::kKafkaBatch;
    request.count = 10;
    ASSERT_EQ(queue.write(std::move(request)).offset, Offset(i * 10));
  }
  queue.restart();
  const ReadAnswer answer = queue.read(15);
  ASSERT_EQ(answer.entries.size(), 2u);
  EXPECT_EQ(answer.entries[0].offset, 10u) << "from the entry that holds the offset";
  EXPECT_EQ(answer.entries[0].payload.text().substr(16), std::string(64, 'b'));
  EXPECT_EQ(answer.entries[0].payload.data()[7], std::byte{10});
}

}  // namespace
}  // namespace moraine::queue
