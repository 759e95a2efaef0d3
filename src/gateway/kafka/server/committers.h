// Which groups have committed offsets, found in one pass over all partitions: a request that names
// many groups would otherwise need a pass for each.
//
// Threading  The executor; yields after each topic.
// Tests      longest_requests_test.cpp, admin_test.cpp
#pragma once

#include <set>
#include <string>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

struct Committers {
  std::set<std::string, std::less<>> groups;
  bool complete = true;  // False: a partition is being started, and more groups may have offsets.
};

// Of the groups in `asked`, which outlives the task.
Task<Committers> find_committers(ServerContext& server, const std::set<std::string_view>& asked);

}  // namespace moraine::kafka
