#include "node/tablet_plan.h"

#include <algorithm>
#include <optional>

namespace moraine {
namespace {

std::optional<TabletAction> action_for(const WantedTablet* wanted, const StartedTablet* started) {
  if (!started) return wanted ? std::optional(TabletAction::kStart) : std::nullopt;
  if (started->stopping) return std::nullopt;
  if (!wanted) return TabletAction::kStop;
  if (wanted->lane != started->lane) return TabletAction::kRestart;
  if (wanted->revision > started->revision) return TabletAction::kConfigure;
  return std::nullopt;
}

template <class T>
const T* find(const std::map<TabletId, T>& tablets, TabletId id) {
  const auto found = tablets.find(id);
  return found == tablets.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<TabletStep> plan_tablets(const std::map<TabletId, WantedTablet>& wanted,
                                     const std::map<TabletId, StartedTablet>& started) {
  std::vector<TabletStep> steps;
  for (const auto& [id, tablet] : wanted) {
    if (const auto action = action_for(&tablet, find(started, id))) steps.push_back({id, *action});
  }
  for (const auto& [id, tablet] : started) {
    if (wanted.contains(id)) continue;
    if (const auto action = action_for(nullptr, &tablet)) steps.push_back({id, *action});
  }
  std::ranges::sort(steps, {}, &TabletStep::tablet);
  return steps;
}

}  // namespace moraine
