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
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = queue::to_string(bug);
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options = topics_options(seed);
    ++hunt.runs;
    const SeedReport report = run_topics_seed(options);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = fmt::format("the campaign of topics ({})", sim::to_string(report.erasure));
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

Hunt hunt_bug(table::SeededBug bug) {
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = table::to_string(bug);
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options = tables_options(seed);
    ++hunt.runs;
    const SeedReport report = run_tables_seed(options);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = fmt::format("the campaign of tables ({})", sim::to_string(report.erasure));
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

Hunt hunt_bug(NodeBug bug) {
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = moraine::to_string(bug);
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options = node_options(seed);
    ++hunt.runs;
    const SeedReport report = run_node_seed(options);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = fmt::format("the campaign of nodes ({})", sim::to_string(report.erasure));
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

Hunt hunt_bug(query::SeededBug bug) {
  Hunt hunt;
  const SwitchedOn on(bug);
  hunt.bug = query::to_string(bug);
  for (std::uint64_t seed = 1; seed <= kHuntSeedsMax; ++seed) {
    SeedOptions options;
    options.seed = seed;
    ++hunt.runs;
    const SeedReport report = run_query_seed(options);
    if (!report.failure) continue;
    hunt.found = true;
    hunt.where = "the campaign of queries";
    hunt.message = *report.failure;
    return hunt;
  }
  return hunt;
}

}  // namespace moraine::sim
