#include "blob/vdisk/guid_decision.h"

#include <gtest/gtest.h>

namespace moraine::blob {
namespace {

TEST(GuidDecision, FollowsTheTableOfLocalAndRememberedStates) {
  using enum GuidAction;
  struct Row {
    LocalState local;
    GuidAction empty, in_progress, final;
  };
  const Row rows[] = {
      {LocalState::kEmpty, kFirstRun, kFirstRun, kLostData},
      {LocalState::kSelected, kInconsistent, kContinueFirstRun, kContinueFirstRun},
      {LocalState::kLost, kInconsistent, kInconsistent, kLostData},
      {LocalState::kFinal, kInconsistent, kInconsistent, kGood},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decide_guid(row.local, 7, {GuidState::kEmpty, 0}), row.empty);
    EXPECT_EQ(decide_guid(row.local, 7, {GuidState::kInProgress, 7}), row.in_progress);
    EXPECT_EQ(decide_guid(row.local, 7, {GuidState::kFinal, 7}), row.final);
  }
}

TEST(GuidDecision, AnotherGuidInTheGroupsMemoryIsAContradiction) {
  EXPECT_EQ(decide_guid(LocalState::kFinal, 7, {GuidState::kFinal, 8}), GuidAction::kInconsistent);
}

}  // namespace
}  // namespace moraine::blob
