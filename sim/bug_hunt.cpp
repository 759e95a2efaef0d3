#include "sim/bug_hunt.h"

#include <fmt/format.h>

#include "sim/campaign.h"
#include "sim/directed.h"

namespace moraine::sim {

std::string Hunt::to_string() const {
  if (!found) return fmt::format("{:<24} NOT FOUND in {} runs", blob::to_string(bug), runs);
  return fmt::format("{:<24} found by {} after {} runs\n    {}", blob::to_string(bug), where, runs,
                     message);
}

Hunt hunt_bug(blob::SeededBug bug) {
  Hunt hunt;
  hunt.bug = bug;
  for (const Scenario& scenario : scenarios()) {
    if (scenario.bug != bug) continue;
    ++hunt.runs;
    if (const auto failure = scenario.tell(bug)) {
      hunt.found = true;
      hunt.where = fmt::format("the scenario \"{}\"", scenario.name);
      hunt.message = *failure;
      return hunt;
    }
  }
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options;
    options.seed = seed;
    options.bug = bug;
    ++hunt.runs;
    const SeedReport report = run_seed(options);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = fmt::format("the campaign ({})", sim::to_string(report.erasure));
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

}  // namespace moraine::sim
