#include "node/tablet_plan.h"

#include <gtest/gtest.h>

#include <optional>

namespace moraine {
namespace {

using Wanted = std::map<TabletId, WantedTablet>;
using Started = std::map<TabletId, StartedTablet>;
using Steps = std::vector<TabletStep>;

std::vector<std::optional<WantedTablet>> all_wanted() {
  std::vector<std::optional<WantedTablet>> all{std::nullopt};
  for (const std::size_t lane : {0, 1}) {
    for (const std::uint64_t revision : {1, 2}) all.push_back(WantedTablet{lane, revision});
  }
  return all;
}

std::vector<std::optional<StartedTablet>> all_started() {
  std::vector<std::optional<StartedTablet>> all{std::nullopt};
  for (const std::size_t lane : {0, 1}) {
    for (const std::uint64_t revision : {1, 2}) {
      for (const bool stopping : {false, true}) {
        all.push_back(StartedTablet{lane, revision, stopping});
      }
    }
  }
  return all;
}

template <class T>
std::map<TabletId, T> one(TabletId id, const std::optional<T>& tablet) {
  std::map<TabletId, T> made;
  if (tablet) made.emplace(id, *tablet);
  return made;
}

Steps step(TabletAction action) {
  return {{TabletId{7}, action}};
}

TEST(TabletPlan, EachStateHasItsStep) {
  const auto plan = [](std::optional<WantedTablet> wanted, std::optional<StartedTablet> started) {
    return plan_tablets(one(TabletId{7}, wanted), one(TabletId{7}, started));
  };
  const WantedTablet wanted{1, 5};
  EXPECT_EQ(plan(std::nullopt, std::nullopt), Steps());
  EXPECT_EQ(plan(wanted, std::nullopt), step(TabletAction::kStart));
  EXPECT_EQ(plan(wanted, StartedTablet{1, 5, false}), Steps());
  EXPECT_EQ(plan(wanted, StartedTablet{1, 4, false}), step(TabletAction::kConfigure));
  EXPECT_EQ(plan(wanted, StartedTablet{0, 5, false}), step(TabletAction::kRestart));
  EXPECT_EQ(plan(wanted, StartedTablet{0, 4, false}), step(TabletAction::kRestart));
  EXPECT_EQ(plan(std::nullopt, StartedTablet{1, 5, false}), step(TabletAction::kStop));
  EXPECT_EQ(plan(wanted, StartedTablet{0, 4, true}), Steps()) << "first it stops";
  EXPECT_EQ(plan(std::nullopt, StartedTablet{1, 5, true}), Steps());
}

// Carries the steps out; a tablet that is being stopped stops when nothing else is to do.
int carry_out(const Wanted& wanted, Started& started) {
  for (int rounds = 0;; ++rounds) {
    EXPECT_LT(rounds, 10) << "the plan does not end";
    const Steps steps = plan_tablets(wanted, started);
    for (const TabletStep& step : steps) {
      switch (step.action) {
        case TabletAction::kStart: {
          EXPECT_FALSE(started.contains(step.tablet)) << "started twice";
          const WantedTablet& as = wanted.at(step.tablet);
          started[step.tablet] = {as.lane, as.revision, false};
          break;
        }
        case TabletAction::kConfigure:
          EXPECT_FALSE(started.at(step.tablet).stopping);
          started.at(step.tablet).revision = wanted.at(step.tablet).revision;
          break;
        case TabletAction::kRestart:
        case TabletAction::kStop:
          EXPECT_FALSE(started.at(step.tablet).stopping) << "stopped twice";
          started.at(step.tablet).stopping = true;
          break;
      }
    }
    const std::size_t stopped =
        std::erase_if(started, [](const auto& tablet) { return tablet.second.stopping; });
    if (rounds >= 10 || (steps.empty() && stopped == 0)) return rounds;
  }
}

// Two tablets in all pairs of states.
TEST(TabletPlan, EveryStateEndsWithWhatIsWanted) {
  const TabletId first{7};
  const TabletId second{8};
  for (const auto& wants_first : all_wanted()) {
    for (const auto& has_first : all_started()) {
      const Steps alone = plan_tablets(one(first, wants_first), one(first, has_first));
      EXPECT_LE(alone.size(), 1u);
      for (const auto& wants_second : all_wanted()) {
        for (const auto& has_second : all_started()) {
          Wanted wanted = one(first, wants_first);
          wanted.merge(one(second, wants_second));
          Started started = one(first, has_first);
          started.merge(one(second, has_second));
          Steps expected = alone;
          for (const TabletStep& other :
               plan_tablets(one(second, wants_second), one(second, has_second))) {
            expected.push_back(other);
          }
          EXPECT_EQ(plan_tablets(wanted, started), expected) << "tablets do not affect each other";
          EXPECT_LE(carry_out(wanted, started), 3);
          ASSERT_EQ(started.size(), wanted.size());
          for (const auto& [id, tablet] : started) {
            EXPECT_EQ(tablet.lane, wanted.at(id).lane);
            EXPECT_GE(tablet.revision, wanted.at(id).revision);
            EXPECT_FALSE(tablet.stopping);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace moraine
