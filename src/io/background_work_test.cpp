#include "io/background_work.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/sim/sim_executor.h"
#include "io/sync.h"

namespace moraine {
namespace {

class BackgroundWorkTest : public testing::Test {
 protected:
  void post(Urgency urgency, int number) {
    work_->of(urgency).post([this, number] { ran_.push_back(number); });
  }
  void run() { executor_.run_for(1s); }

  SimExecutor executor_;
  std::unique_ptr<BackgroundWork> work_ = std::make_unique<BackgroundWork>(executor_);
  std::vector<int> ran_;
};

TEST_F(BackgroundWorkTest, TheMostUrgentRunsFirstAndEqualOnesInTheirOrder) {
  post(Urgency::kMerge, 1);
  post(Urgency::kFlush, 2);
  post(Urgency::kMerge, 3);
  post(Urgency::kRequest, 4);
  post(Urgency::kRequest, 5);
  EXPECT_EQ(work_->waiting(Urgency::kRequest), 2u);
  EXPECT_EQ(work_->waiting(Urgency::kMerge), 2u);
  run();
  EXPECT_EQ(ran_, (std::vector{4, 5, 2, 1, 3}));
  EXPECT_EQ(work_->waiting(Urgency::kRequest), 0u);
}

TEST_F(BackgroundWorkTest, AMergeThatYieldsLetsARequestComeBetween) {
  const auto merge = [](BackgroundWork& work, std::vector<int>& ran) -> Task<void> {
    Executor& executor = work.of(Urgency::kMerge);
    co_await yield(executor);
    ran.push_back(1);
    work.of(Urgency::kRequest).post([&ran] { ran.push_back(2); });
    co_await yield(executor);
    ran.push_back(3);
  };
  spawn(merge(*work_, ran_));
  run();
  EXPECT_EQ(ran_, (std::vector{1, 2, 3}));
}

TEST_F(BackgroundWorkTest, WhatWasPostedRunsAfterTheObjectHasGone) {
  post(Urgency::kFlush, 1);
  work_.reset();
  run();
  EXPECT_EQ(ran_, std::vector{1});
}

}  // namespace
}  // namespace moraine
