#include "sim/bug_hunt.h"

#include <fmt/format.h>

#include "io/sim/switched_on.h"
#include "sim/campaign.h"
#include "sim/directed.h"
#include "sim/leaders.h"
#include "sim/node/node_campaign.h"
#include "sim/query/query_campaign.h"
#include "sim/tables/tables_campaign.h"
#include "sim/topics/topics_campaign.h"

namespace moraine::sim {

std::string Hunt::to_string() const {
  if (!found) return fmt::format("{:<24} NOT FOUND in {} runs", bug, runs);
  return fmt::format("{:<24} found by {} after {} runs\n    {}", bug, where, runs, message);
}

namespace {

// Bugs of tablets are found by the leaders scenario.
Hunt hunt_in_leaders(Hunt hunt) {
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    ++hunt.runs;
    const LeadersReport report = run_leaders(seed);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = "the leaders scenario";
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

// In seeds of one campaign.
template <class Bug, class Options, class Run>
Hunt hunt_in(Bug bug, std::string_view name, std::string_view campaign, Options options, Run run) {
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = name;
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    ++hunt.runs;
    const SeedReport report = run(options(seed));
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = fmt::format("the campaign of {} ({})", campaign, sim::to_string(report.erasure));
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

}  // namespace

Hunt hunt_bug(blob::SeededBug bug) {
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = blob::to_string(bug);
  for (const Scenario& scenario : scenarios()) {
    if (scenario.bug != bug) continue;
    ++hunt.runs;
    if (const auto failure = scenario.run()) {
      hunt.found = true;
      hunt.where = fmt::format("the scenario \"{}\"", scenario.name);
      hunt.message = *failure;
      return hunt;
    }
  }
  if (bug >= blob::SeededBug::kSkipTabletBlock) return hunt_in_leaders(hunt);
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options;
    options.seed = seed;
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

Hunt hunt_bug(queue::SeededBug bug) {
  return hunt_in(bug, queue::to_string(bug), "topics", topics_options, run_topics_seed);
}

Hunt hunt_bug(table::SeededBug bug) {
  return hunt_in(bug, table::to_string(bug), "tables", tables_options, run_tables_seed);
}

Hunt hunt_bug(NodeBug bug) {
  return hunt_in(bug, moraine::to_string(bug), "nodes", node_options, run_node_seed);
}

Hunt hunt_bug(TreeBug bug) {
  return hunt_in(bug, moraine::to_string(bug), "nodes", node_options, run_node_seed);
}

Hunt hunt_bug(query::SeededBug bug) {
  const auto options = [](std::uint64_t seed) {
    SeedOptions made;
    made.seed = seed;
    return made;
  };
  return hunt_in(bug, query::to_string(bug), "queries", options, run_query_seed);
}

}  // namespace moraine::sim
