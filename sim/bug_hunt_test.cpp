#include "sim/bug_hunt.h"

#include <gtest/gtest.h>

#include "io/sim/switched_on.h"
#include "sim/directed.h"

namespace moraine::sim {
namespace {

using blob::SeededBug;

TEST(Scenarios, EndWellWithoutABug) {
  for (const Scenario& scenario : scenarios()) {
    const auto failure = scenario.run();
    EXPECT_FALSE(failure) << scenario.name << ": " << *failure;
  }
}

TEST(Scenarios, EndBadlyWithTheirBug) {
  for (const Scenario& scenario : scenarios()) {
    const SwitchedOn bug(scenario.bug);
    EXPECT_TRUE(scenario.run()) << scenario.name;
  }
}

// Bugs that few seeds find; `moraine_sim --bugs` hunts all.
TEST(BugHunt, FindsSeededBugs) {
  for (const SeededBug bug :
       {SeededBug::kAckBeforeSync, SeededBug::kIgnoreBlockOnPut, SeededBug::kForgetBlock,
        SeededBug::kDropKeepInMerge, SeededBug::kBarrierBeforeFlags, SeededBug::kSkipReplication,
        SeededBug::kSkipForcedBlock, SeededBug::kDropHandoffEarly}) {
    const Hunt hunt = hunt_bug(bug);
    EXPECT_TRUE(hunt.found) << hunt.to_string();
  }
}

TEST(BugHunt, FindsSeededBugsOfTablets) {
  for (const SeededBug bug :
       {SeededBug::kSkipTabletBlock, SeededBug::kSkipZeroEntry, SeededBug::kCollectUnflagged}) {
    const Hunt hunt = hunt_bug(bug);
    EXPECT_TRUE(hunt.found) << hunt.to_string();
  }
}

}  // namespace
}  // namespace moraine::sim
