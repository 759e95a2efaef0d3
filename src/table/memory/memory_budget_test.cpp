#include "table/memory/memory_budget.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "io/sim/sim_world.h"

namespace moraine::table {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Shares of one budget that record when they are asked.
class MemoryBudgetTest : public testing::Test {
 protected:
  struct Owner {
    std::optional<MemoryBudget::Share> share;
    int asked = 0;
    void use(std::uint64_t bytes) { share->set({bytes, bytes, bytes}); }
    void shrink_to(std::uint64_t bytes) {
      use(bytes);
      share->answer();
    }
  };

  void join(Owner& owner) {
    owner.share.emplace(&budget_, world_.executor(), [&owner] { ++owner.asked; });
  }
  void settle() { world_.run_for(1ms); }

  SimWorld world_{1};
  MemoryBudget budget_{10 * kMiB, 20 * kMiB};
  Owner small_;
  Owner large_;
};

TEST_F(MemoryBudgetTest, AddsUpSharesAndReleasesThoseThatEnd) {
  join(small_);
  join(large_);
  small_.use(kMiB + 1);
  large_.use(4 * kMiB);
  EXPECT_EQ(budget_.bytes(), 5 * kMiB + kShareStepBytes) << "rounded up";
  large_.use(0);
  EXPECT_EQ(budget_.bytes(), kMiB + kShareStepBytes);
  small_.share.reset();
  EXPECT_EQ(budget_.bytes(), 0u);
}

TEST_F(MemoryBudgetTest, AsksTheLargestFirstAndNoMoreThanNeeded) {
  join(small_);
  join(large_);
  small_.use(3 * kMiB);
  large_.use(7 * kMiB);
  settle();
  EXPECT_EQ(small_.asked + large_.asked, 0) << "at the mark";
  small_.use(4 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 1);
  EXPECT_EQ(small_.asked, 0);
}

TEST_F(MemoryBudgetTest, AsksAgainOnlyAfterAnAnswer) {
  join(large_);
  large_.use(11 * kMiB);
  settle();
  large_.use(19 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 1);
  large_.shrink_to(12 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 2) << "it is still above the mark";
  large_.shrink_to(2 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 2);
  large_.use(11 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 3);
}

TEST_F(MemoryBudgetTest, AsksOthersWhenTheFirstCannotShrink) {
  join(small_);
  join(large_);
  small_.use(3 * kMiB);
  large_.use(9 * kMiB);
  settle();
  EXPECT_EQ(small_.asked, 0);
  large_.share->decline();
  settle();
  EXPECT_EQ(small_.asked, 1);
  EXPECT_EQ(large_.asked, 1);
  large_.share->answer();
  settle();
  EXPECT_EQ(large_.asked, 1) << "what the other will free is enough";
  large_.use(18 * kMiB);
  settle();
  EXPECT_EQ(large_.asked, 2);
}

TEST_F(MemoryBudgetTest, DoesNotAskForLittle) {
  join(small_);
  join(large_);
  small_.use(2 * kMiB);
  large_.use(9 * kMiB);
  large_.share->decline();
  settle();
  EXPECT_EQ(small_.asked, 0) << "less than a quarter of an equal part";
  small_.use(3 * kMiB);
  settle();
  EXPECT_EQ(small_.asked, 1);
}

TEST_F(MemoryBudgetTest, IsFullAtTheLimitUntilMemoryIsFreed) {
  join(large_);
  large_.use(20 * kMiB - kShareStepBytes);
  EXPECT_FALSE(large_.share->full());
  large_.use(20 * kMiB);
  EXPECT_TRUE(large_.share->full());
  large_.shrink_to(kMiB);
  EXPECT_FALSE(large_.share->full());
}

TEST_F(MemoryBudgetTest, AnEndedShareIsNotCalled) {
  join(large_);
  large_.use(11 * kMiB);
  large_.share.reset();
  settle();
  EXPECT_EQ(large_.asked, 0);
}

TEST_F(MemoryBudgetTest, WhatAnEndedShareWasToFreeIsAskedOfOthers) {
  join(small_);
  join(large_);
  small_.use(2 * kMiB);
  large_.use(15 * kMiB);
  settle();
  ASSERT_EQ(large_.asked, 1);
  large_.share.reset();
  small_.use(11 * kMiB);
  settle();
  EXPECT_EQ(small_.asked, 1);
}

TEST(MemoryShare, WithoutABudgetHasNoLimit) {
  SimWorld world(1);
  MemoryBudget::Share share(nullptr, world.executor(), [] { FAIL(); });
  share.set({std::uint64_t{1} << 60, 1, 1});
  share.answer();
  share.decline();
  EXPECT_FALSE(share.full());
}

}  // namespace
}  // namespace moraine::table
