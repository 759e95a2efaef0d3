// Writers that pipeline, while some of their writes are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

WriteRequest batch(std::uint64_t sequence, std::string source = "kafka") {
  WriteRequest request = TestQueue::message(fmt::format("batch {}", sequence));
  request.producer = {std::move(source), Numbering::kSequence, sequence, 0};
  return request;
}

// Fills the queue of a partition that takes two writes.
class Crowded {
 public:
  explicit Crowded(std::uint64_t seed) : queue(seed) {
    queue.waiting_writes_max = 2;
    queue.restart();
  }
  void fill() {
    for (int i = 0; i < 2; ++i) queue.send(TestQueue::message("fills"));
  }
  void drain() { queue.world.run_for(5s); }
  std::vector<std::string> texts() {
    std::vector<std::string> texts = queue.texts();
    std::erase(texts, "fills");
    return texts;
  }
  WriteStatus status(const TestQueue::Answer& answer) { return queue.wait(answer).status; }

  TestQueue queue;
};

TEST(PartitionRefusal, ANumberRefusedByOverloadIsNotPassedByALaterOne) {
  Crowded crowded(1);
  TestQueue& queue = crowded.queue;
  crowded.fill();
  EXPECT_EQ(crowded.status(queue.send(TestQueue::message("one", "me", 1))),
            WriteStatus::kOverloaded);
  crowded.drain();
  // Sent before the answer was received.
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kOk);
  EXPECT_EQ(crowded.texts(), (std::vector<std::string>{"one", "two"}));
}

TEST(PartitionRefusal, AProducersFirstBatchIsNotPassedByItsSecond) {
  Crowded crowded(2);
  TestQueue& queue = crowded.queue;
  crowded.fill();
  EXPECT_EQ(crowded.status(queue.send(batch(0))), WriteStatus::kOverloaded);
  crowded.drain();
  EXPECT_EQ(queue.write(batch(1)).status, WriteStatus::kFailedBefore);
  const auto first = queue.send(batch(0));
  const auto second = queue.send(batch(1));
  EXPECT_EQ(crowded.status(first), WriteStatus::kOk);
  EXPECT_EQ(crowded.status(second), WriteStatus::kOk);
  EXPECT_EQ(crowded.texts(), (std::vector<std::string>{"batch 0", "batch 1"}));
}

TEST(PartitionRefusal, ALaterBatchOfAKnownProducerIsNotCalledOutOfOrder) {
  Crowded crowded(3);
  TestQueue& queue = crowded.queue;
  ASSERT_EQ(queue.write(batch(0)).status, WriteStatus::kOk);
  crowded.fill();
  EXPECT_EQ(crowded.status(queue.send(batch(1))), WriteStatus::kOverloaded);
  crowded.drain();
  EXPECT_EQ(queue.write(batch(2)).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.write(batch(1)).status, WriteStatus::kOk);
  EXPECT_EQ(queue.write(batch(2)).status, WriteStatus::kOk);
}

TEST(PartitionRefusal, AFirstBatchThatAnEarlierIncarnationRefusedIsNotPassed) {
  TestQueue queue(4);
  queue.restart();
  EXPECT_EQ(queue.write(batch(1)).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.write(batch(2)).status, WriteStatus::kFailedBefore);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(queue.write(batch(i)).status, WriteStatus::kOk);
  // An evicted one continues where it was, after a while.
  EXPECT_EQ(queue.write(batch(70, "old")).status, WriteStatus::kFailedBefore);
  queue.world.run_for(kUnknownProducerGrace);
  EXPECT_EQ(queue.write(batch(70, "old")).status, WriteStatus::kOk);
}

TEST(PartitionRefusal, InANewPartitionAProducerBeginsWithAnySequenceAtOnce) {
  TestQueue queue(11);
  EXPECT_EQ(queue.write(batch(70)).status, WriteStatus::kOk);
  EXPECT_EQ(queue.write(batch(71)).status, WriteStatus::kOk);
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({1, {}})));
  EXPECT_EQ(queue.wait(queue.tablet->partition(1)->write(batch(5))).status, WriteStatus::kOk);
  // A first incarnation that stored nothing may have refused something.
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({2, {}})));
  queue.crash();
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({2, {}})));
  EXPECT_EQ(queue.wait(queue.tablet->partition(2)->write(batch(5))).status,
            WriteStatus::kFailedBefore);
}

TEST(PartitionRefusal, ANewPartitionsFirstBatchThatIsRefusedIsNotPassed) {
  Crowded crowded(12);
  TestQueue& queue = crowded.queue;
  PartitionSetup setup{1, {}};
  setup.waiting_writes_max = 2;
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition(std::move(setup))));
  Partition& fresh = *queue.tablet->partition(1);
  const auto send = [&](WriteRequest request) { return fresh.write(std::move(request)); };
  for (int i = 0; i < 2; ++i) send(TestQueue::message("fills"));
  EXPECT_EQ(crowded.status(send(batch(0))), WriteStatus::kOverloaded);
  crowded.drain();
  EXPECT_EQ(crowded.status(send(batch(1))), WriteStatus::kFailedBefore);
  EXPECT_EQ(crowded.status(send(batch(0))), WriteStatus::kOk);
  EXPECT_EQ(crowded.status(send(batch(1))), WriteStatus::kOk);
}

TEST(PartitionRefusal, ANumberRefusedByAFullPartitionIsNotPassedByALaterOne) {
  PartitionConfig config;
  config.count_max = 1;
  TestQueue queue(5, config);
  queue.say("fills");
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kFullByCount);
  config.count_max = 100;
  queue.configure(config);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kFailedBefore);
  const auto one = queue.send(TestQueue::message("one", "me", 1));
  const auto two = queue.send(TestQueue::message("two", "me", 2));
  const auto three = queue.send(TestQueue::message("three", "me", 3));
  for (const auto& answer : {one, two, three}) {
    EXPECT_EQ(queue.wait(answer).status, WriteStatus::kOk);
  }
  EXPECT_EQ(queue.texts(1), (std::vector<std::string>{"one", "two", "three"}));
}

Task<void> write_key(KeyValue& store, std::string key) {
  std::vector<Command> commands;
  commands.emplace_back(WriteKey{std::move(key), Slice::copy_of("x")});
  (void)co_await store.execute(std::move(commands));
}

TEST(PartitionRefusal, ANumberRefusedByABusyTabletIsNotPassedByALaterOne) {
  TestQueue queue(10, {}, TestQueue::kCacheBytes, 10u << 20);
  const auto one = queue.send(TestQueue::message("one", "me", 1));
  // Other transactions of the tablet come before the partition's.
  auto& store = const_cast<KeyValue&>(queue.tablet->store());
  for (std::size_t i = 0; i < kQueuedCommitsMax; ++i) spawn(write_key(store, "other"));
  EXPECT_EQ(queue.wait(one).status, WriteStatus::kOverloaded);
  queue.world.run_for(5s);
  EXPECT_FALSE(queue.partition().stopped());
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kOk);
}

TEST(PartitionRefusal, AWriterThatGivesUpGoesOnAfterAWhile) {
  PartitionConfig config;
  config.count_max = 1;
  TestQueue queue(6, config);
  queue.say("fills");
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kFullByCount);
  queue.configure({});
  std::uint64_t number = 2;
  const Instant begin = queue.world.executor().now();
  while (queue.say("next", "me", number).status != WriteStatus::kOk) {
    ++number;
    queue.world.run_for(1s);
    ASSERT_LT(queue.world.executor().now() - begin, 2 * kRefusalMemory);
  }
  EXPECT_GE(queue.world.executor().now() - begin, kRefusalMemory - 1s);
}

TEST(PartitionRefusal, APartThatIsRefusedIsNotPassedByTheNextMessage) {
  Crowded crowded(7);
  TestQueue& queue = crowded.queue;
  ASSERT_EQ(queue.write(TestQueue::part("o", "me", 1, 0, 3)).status, WriteStatus::kOk);
  crowded.fill();
  EXPECT_EQ(crowded.status(queue.send(TestQueue::part("n", "me", 1, 1, 3))),
            WriteStatus::kOverloaded);
  crowded.drain();
  EXPECT_EQ(queue.write(TestQueue::part("e", "me", 1, 2, 3)).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kFailedBefore);
  for (std::uint32_t part = 0; part < 3; ++part) {
    EXPECT_EQ(queue.write(TestQueue::part(std::string(1, "one"[part]), "me", 1, part, 3)).status,
              WriteStatus::kOk);
  }
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kOk);
  EXPECT_EQ(crowded.texts(), (std::vector<std::string>{"one", "two"}));
}

TEST(PartitionRefusal, PartsOutOfPlaceHoldUpWhatFollows) {
  TestQueue queue(8);
  EXPECT_EQ(queue.write(TestQueue::part("n", "me", 1, 1, 3)).status, WriteStatus::kInvalid);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(queue.say("one", "me", 1).status, WriteStatus::kOk);
  EXPECT_EQ(queue.say("two", "me", 2).status, WriteStatus::kOk);
}

TEST(PartitionRefusal, WritesFailWithDiskFullWhileTheFileSystemIsFullAndNothingIsLost) {
  TestQueue queue(9, {}, TestQueue::kCacheBytes, 10u << 20);
  queue.say("before", "me", 1);
  SimDrive& drive = queue.storage.node().disks().drive("device");
  drive.faults().capacity = drive.allocated();
  const std::string text(1'000'000, 'x');
  std::vector<TestQueue::Answer> answers;
  for (std::uint64_t i = 0; i < 60; ++i) {
    answers.push_back(queue.send(TestQueue::message(text, "me", 2 + i)));
  }
  std::map<WriteStatus, std::size_t> counts;
  std::vector<WriteStatus> statuses;
  for (const auto& answer : answers) {
    statuses.push_back(queue.wait(answer).status);
    ++counts[statuses.back()];
  }
  EXPECT_GT(counts[WriteStatus::kOk], 0u);
  EXPECT_GT(counts[WriteStatus::kDiskFull], 0u);
  EXPECT_EQ(counts[WriteStatus::kStopped], 0u);
  EXPECT_TRUE(std::ranges::is_sorted(statuses, std::greater(), [](WriteStatus status) {
    return status == WriteStatus::kOk ? 2 : status == WriteStatus::kUnknown ? 1 : 0;
  }));
  EXPECT_EQ(queue.say("late", "you", 1).status, WriteStatus::kDiskFull);
  drive.faults().capacity = DiskFaults::kUnlimited;
  queue.restart();
  queue.world.run_for(10s);  // The device checks for free space by itself.
  for (std::uint64_t i = 0; i < 60; ++i) {
    const WriteStatus status = queue.say(text, "me", 2 + i).status;
    EXPECT_TRUE(status == WriteStatus::kOk || status == WriteStatus::kDuplicate);
    if (statuses[i] == WriteStatus::kDiskFull) EXPECT_EQ(status, WriteStatus::kOk);
  }
  EXPECT_EQ(queue.entries().size(), 61u);
}

}  // namespace
}  // namespace moraine::queue
