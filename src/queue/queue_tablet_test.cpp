#include "queue/queue_tablet.h"

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

TEST(QueueTablet, PartitionsAreAddedAndKeptApart) {
  TestQueue queue(1);
  EXPECT_EQ(queue.tablet->partition(1), nullptr);
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({1, {}})));
  queue.say("in the first");
  EXPECT_EQ(
      queue.wait(queue.tablet->partition(1)->write(TestQueue::message("in the second"))).offset,
      0u);
  EXPECT_EQ(queue.texts(), (std::vector<std::string>{"in the first"}));
  queue.restart();
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({1, {}})));
  EXPECT_EQ(queue.tablet->partition(1)->info().end, 1u);
}

Task<void> add_and_write(QueueTablet& tablet, Executor& executor, Duration after) {
  co_await sleep_for(executor, after);
  EXPECT_TRUE(co_await tablet.add_partition({1, {}}));
  const auto written = tablet.partition(1)->write(TestQueue::message("from one of many"));
  EXPECT_EQ((co_await *written).status, WriteStatus::kOk);
}

Task<void> add_many_times(QueueTablet& tablet, Executor& executor, int times) {
  TaskScope scope;
  for (int i = 0; i < times; ++i) scope.spawn(add_and_write(tablet, executor, i * 50us));
  co_await scope.join();
}

TEST(QueueTablet, APartitionAddedManyTimesAtOnceKeepsWhatIsWritten) {
  constexpr int kTimes = 40;
  TestQueue queue(9);
  queue.world.run(add_many_times(*queue.tablet, queue.world.executor(), kTimes));
  EXPECT_EQ(queue.tablet->partition(1)->info().end, Offset{kTimes});
  queue.restart();
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({1, {}})));
  EXPECT_EQ(queue.tablet->partition(1)->info().end, Offset{kTimes});
}

TEST(QueueTablet, AddingAPartitionThatIsThereConfiguresIt) {
  TestQueue queue(2);
  queue.say("one");
  const auto before = queue.tablet->partition(0);
  PartitionConfig config;
  config.count_max = 1;
  ASSERT_TRUE(queue.world.run(queue.tablet->add_partition({0, config})));
  EXPECT_EQ(queue.tablet->partition(0), before);
  EXPECT_EQ(queue.say("two").status, WriteStatus::kFullByCount);
}

TEST(QueueTablet, AStoppedPartitionThatSomebodyHoldsAnswersStopped) {
  TestQueue queue(3);
  const auto kept = queue.tablet->partition(0);
  queue.stop();
  EXPECT_EQ(queue.wait(kept->write(TestQueue::message("late"))).status, WriteStatus::kStopped);
  EXPECT_EQ(queue.world.run(kept->read({0, 100})).error().code, Errc::kUnavailable);
}

TEST(QueueTablet, OfTwoIncarnationsOnlyTheNewerWrites) {
  TestQueue queue(4);
  for (int round = 0; round < 5; ++round) {
    auto newer = queue.boot_another();
    const WriteStatus old_says = queue.say("old").status;
    EXPECT_NE(old_says, WriteStatus::kOk);
    queue.stop();
    queue.tablet = std::move(newer);
    ASSERT_EQ(queue.say("new").offset, Offset(round));
  }
  EXPECT_EQ(queue.texts(), std::vector<std::string>(5, "new"));
}

}  // namespace
}  // namespace moraine::queue
