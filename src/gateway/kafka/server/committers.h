// Which groups have committed offsets, found by one look at every partition: a request that names
// many groups would look at all of them for each.
//
// Threading  The executor; others have their turn after each topic.
// Tests      longest_requests_test.cpp, admin_test.cpp
#pragma once

#include <set>
#include <string>

#include "gateway/kafka/server/context.h"

namespace moraine::kafka {

struct Committers {
  std::set<std::string, std::less<>> groups;
  bool complete = true;  // False: a partition is being started, and others may have some in it.
};

// Of the groups in `asked`, which outlives the task.
Task<Committers> find_committers(ServerContext& server, const std::set<std::string_view>& asked);

}  // namespace moraine::kafka
