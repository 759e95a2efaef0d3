// Seeded bugs, and how each of them is found.
//
// Promise    A hunt runs the scenarios made for the bug (directed.h), then seeds of the campaign,
//            until the model reports a failure.
// Limits     kHuntSeedsMax seeds.
#pragma once

#include <cstdint>
#include <string>

#include "base/node_bug.h"
#include "blob/seeded_bug.h"
#include "query/seeded_bug.h"
#include "queue/seeded_bug.h"
#include "scheme/tree_bug.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::sim {

inline constexpr std::uint64_t kHuntSeedsMax = 300;

struct Hunt {
  std::string bug;
  bool found = false;
  std::uint64_t runs = 0;
  std::string where;    // The scenario or the campaign.
  std::string message;  // The failure that the model reported.

  std::string to_string() const;
};

Hunt hunt_bug(blob::SeededBug bug);
// In the campaign of topics.
Hunt hunt_bug(queue::SeededBug bug);
// In the campaign of tables.
Hunt hunt_bug(table::SeededBug bug);
// In the campaign of whole nodes.
Hunt hunt_bug(NodeBug bug);
Hunt hunt_bug(TreeBug bug);
// In the campaign of queries.
Hunt hunt_bug(query::SeededBug bug);

}  // namespace moraine::sim
