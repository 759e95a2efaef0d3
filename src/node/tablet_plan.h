// The steps that bring the tablets of this node in line with the scheme and with placement.
//
// Promise    Pure. The steps of different tablets are independent of each other, and each is one
//            that its tablet can take now: a tablet that is being stopped gets none until it has
//            stopped. Planning again after every step ends with what is wanted, and then plans
//            nothing.
// Tests      tablet_plan_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tablet/tablet_info.h"

namespace moraine {

// A tablet that the scheme wants to run and that placement has put on this node.
struct WantedTablet {
  std::size_t lane = 0;
  std::uint64_t revision = 0;  // Of its record; a newer one has a higher number.
};

// A tablet that was started and has not stopped yet.
struct StartedTablet {
  std::size_t lane = 0;
  std::uint64_t revision = 0;
  bool stopping = false;
};

enum class TabletAction : std::uint8_t {
  kStart,
  kConfigure,  // Passes the newer record to it.
  kRestart,    // Stops it, to be started on another lane.
  kStop,
};

struct TabletStep {
  TabletId tablet;
  TabletAction action{};
  bool operator==(const TabletStep&) const = default;
};

// In the order of the ids.
std::vector<TabletStep> plan_tablets(const std::map<TabletId, WantedTablet>& wanted,
                                     const std::map<TabletId, StartedTablet>& started);

}  // namespace moraine
