// Scenarios with fixed steps, for bugs that random runs rarely find.
//
// Promise    Without a seeded bug every scenario succeeds; with its own bug it fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blob/seeded_bug.h"

namespace moraine::sim {

struct Scenario {
  blob::SeededBug bug;
  const char* name;
  // Returns the failure, if any.
  std::optional<std::string> (*run)();
};

const std::vector<Scenario>& scenarios();

}  // namespace moraine::sim
