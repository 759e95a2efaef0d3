#include "queue/fact_counts.h"

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

std::shared_ptr<FactCounts> few() {
  FactLimits limits;
  limits.sources_max = 10;
  limits.sources_kept_min = 2;
  limits.consumers_max = 2;
  return std::make_shared<FactCounts>(limits);
}

TEST(FactCounts, PartitionsWithManySourcesForgetMost) {
  const auto counts = few();
  FactCounts::Share many(counts);
  FactCounts::Share one(counts);
  many.set(9, 0);
  one.set(1, 0);
  EXPECT_GT(many.sources_allowed(), 1'000u) << "at the limit";
  many.set(19, 0);
  EXPECT_EQ(counts->sources(), 20u);
  EXPECT_EQ(many.sources_allowed(), 9u);
  EXPECT_EQ(one.sources_allowed(), 2u) << "it keeps what it has";
}

TEST(FactCounts, ConsumersAreReservedUpToTheLimit) {
  const auto counts = few();
  FactCounts::Share first(counts);
  {
    FactCounts::Share second(counts);
    EXPECT_TRUE(first.reserve_consumer());
    EXPECT_TRUE(second.reserve_consumer());
    EXPECT_FALSE(first.reserve_consumer());
    EXPECT_EQ(counts->consumers(), 2u);
    first.set(0, 1);
    EXPECT_EQ(counts->consumers(), 2u) << "the figure replaces what was reserved";
  }
  EXPECT_EQ(counts->consumers(), 1u);
  EXPECT_TRUE(first.reserve_consumer());
}

TEST(FactCounts, WithoutCountsThereIsNoLimit) {
  FactCounts::Share share(nullptr);
  share.set(1'000, 1'000);
  EXPECT_TRUE(share.reserve_consumer());
  EXPECT_GT(share.sources_allowed(), 1'000'000u);
}

TEST(PartitionFacts, SourcesAreForgottenWhenTheNodeHasTooMany) {
  TestQueue queue(1);
  queue.facts = few();
  queue.restart();
  FactCounts::Share other(queue.facts);
  for (int i = 0; i < 8; ++i) queue.say("x", fmt::format("source{}", i), 5);
  queue.world.run_for(10s);
  EXPECT_EQ(queue.partition().info().sources, 8u);
  EXPECT_EQ(queue.facts->sources(), 8u);
  other.set(6, 0);
  queue.world.run_for(10s);
  EXPECT_EQ(queue.partition().info().sources, 4u) << "only this one can forget some";
  EXPECT_EQ(queue.facts->sources(), 10u);
  EXPECT_EQ(queue.say("x", "source7", 5).status, WriteStatus::kDuplicate) << "the newest are kept";
  const WriteAnswer refused = queue.say("x", "source0", 5);
  EXPECT_EQ(refused.status, WriteStatus::kSourceForgotten);
  EXPECT_NE(refused.detail.find("more than 10 to all partitions of the node"), std::string::npos)
      << refused.detail;
}

TEST(PartitionFacts, NewConsumersAreRefusedWhenTheNodeHasTooMany) {
  TestQueue queue(2);
  queue.facts = few();
  queue.restart();
  ASSERT_TRUE(queue.commit("a", 0));
  ASSERT_TRUE(queue.commit("b", 0));
  const auto refused = queue.commit("c", 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  EXPECT_TRUE(queue.commit("a", 0)) << "known ones continue";
  queue.restart();
  EXPECT_FALSE(queue.commit("c", 0));
  ASSERT_TRUE(queue.world.run(queue.partition().forget_consumer("b")));
  EXPECT_TRUE(queue.commit("c", 0));
  EXPECT_EQ(queue.facts->consumers(), 2u);
  queue.stop();
  EXPECT_EQ(queue.facts->consumers(), 0u);
}

}  // namespace
}  // namespace moraine::queue
