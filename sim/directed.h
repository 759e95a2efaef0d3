// Scenarios told step by step, for bugs that chance meets too seldom.
//
// Promise    Without a seeded bug every scenario ends well; with its own bug it does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/seeded_bug.h"

namespace moraine::sim {

struct Scenario {
  blob::SeededBug bug;
  const char* name;
  // What went wrong, if anything.
  std::optional<std::string> (*tell)(blob::SeededBug bug);
};

const std::vector<Scenario>& scenarios();

}  // namespace moraine::sim
