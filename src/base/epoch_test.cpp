#include "base/epoch.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace moraine {
namespace {

TEST(Epoch, RunsWhatWasRetiredWithoutReaders) {
  bool freed = false;
  retire([&] { freed = true; });
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(Epoch, KeepsWhatWasRetiredUntilTheGuardEnds) {
  bool freed = false;
  {
    const EpochGuard guard;
    retire([&] { freed = true; });
    EXPECT_FALSE(run_retired());
    EXPECT_FALSE(freed);
  }
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(Epoch, AnInnerGuardThatEndsReleasesNothing) {
  bool freed = false;
  std::optional<EpochGuard> outer(std::in_place);
  {
    const EpochGuard inner;
    retire([&] { freed = true; });
  }
  EXPECT_FALSE(run_retired());
  EXPECT_FALSE(freed);
  outer.reset();
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(Epoch, AGuardThatCameLaterHoldsNothingBack) {
  bool freed = false;
  retire([&] { freed = true; });
  const EpochGuard guard;
  EXPECT_TRUE(run_retired());
  EXPECT_TRUE(freed);
}

TEST(Epoch, ManyRetiredObjectsAreFreedWithoutAskingForIt) {
  constexpr int kObjects = 1'000;
  const auto freed = std::make_shared<int>(0);
  for (int i = 0; i < kObjects; ++i) retire([freed] { ++*freed; });
  EXPECT_GT(*freed, kObjects / 2);
  EXPECT_TRUE(run_retired());
  EXPECT_EQ(*freed, kObjects);
}

TEST(Epoch, ACallbackMayRetire) {
  bool freed = false;
  retire([&] { retire([&] { freed = true; }); });
  while (!run_retired()) {
  }
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace moraine
