#include "blob/group/redundancy.h"

#include <fmt/format.h>

#include <bit>
#include <map>

namespace moraine::blob {
namespace {

std::uint32_t count(DiskSet set) {
  return static_cast<std::uint32_t>(std::popcount(set));
}

// Do all choices of `more` units out of `units` leave the failures tolerated?
bool all_tolerated(const Geometry& geometry, DiskSet failed, std::span<const DiskSet> units,
                   std::uint32_t more) {
  if (more == 0) return tolerated(geometry, failed);
  for (std::size_t i = 0; i + more <= units.size(); ++i) {
    if (!all_tolerated(geometry, failed | units[i], units.subspan(i + 1), more - 1)) return false;
  }
  return true;
}

std::vector<DiskSet> each_disk(const Geometry& geometry) {
  std::vector<DiskSet> units;
  for (std::uint32_t order = 0; order < geometry.disks(); ++order) units.push_back(disk_bit(order));
  return units;
}

std::vector<DiskSet> each_node(const GroupConfig& group) {
  std::map<NodeId, DiskSet> by_node;
  for (std::uint32_t order = 0; order < group.disks.size(); ++order) {
    by_node[group.disks[order].node] |= disk_bit(order);
  }
  std::vector<DiskSet> units;
  for (const auto& [node, disks] : by_node) units.push_back(disks);
  return units;
}

GroupCondition condition_of(const GroupConfig& group, const Redundancy& found) {
  if (!tolerated(group.geometry, found.not_serving)) return GroupCondition::kNotAvailable;
  if (found.disks_survived < 0) return GroupCondition::kDataAtRisk;
  if (found.not_whole == 0) return GroupCondition::kWhole;
  return found.disks_survived > 0 ? GroupCondition::kDegraded : GroupCondition::kNoRedundancy;
}

std::string counted(std::uint32_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// "any 2 more disks or any 1 more node may fail"; `more` is "more " or empty.
std::string may_fail(const Redundancy& found, std::string_view more) {
  const auto any = [more](int number, std::string_view what) {
    return fmt::format("any {} {}{}{}", number, more, what, number == 1 ? "" : "s");
  };
  const std::string disks = any(found.disks_survived, "disk");
  if (found.nodes_survived <= 0) return disks + " may fail, but no whole node";
  return fmt::format("{} or {} may fail", disks, any(found.nodes_survived, "node"));
}

}  // namespace

std::string_view to_string(GroupCondition condition) {
  switch (condition) {
    case GroupCondition::kWhole: return "whole";
    case GroupCondition::kDegraded: return "degraded";
    case GroupCondition::kNoRedundancy: return "no redundancy left";
    case GroupCondition::kDataAtRisk: return "data at risk";
    case GroupCondition::kNotAvailable: break;
  }
  return "not available";
}

int further_failures(const Geometry& geometry, DiskSet failed, std::span<const DiskSet> units) {
  int survived = -1;
  for (std::uint32_t more = 0; more <= kFailuresEnough; ++more) {
    if (more > units.size() || !all_tolerated(geometry, failed, units, more)) break;
    survived = static_cast<int>(more);
  }
  return survived;
}

Redundancy redundancy(const GroupConfig& group, DiskSet serving, DiskSet replicated) {
  Redundancy found;
  found.disks = group.geometry.disks();
  found.not_serving = group.geometry.all_disks() & ~serving;
  found.not_whole = found.not_serving | (group.geometry.all_disks() & ~replicated);
  const std::vector<DiskSet> disks = each_disk(group.geometry);
  const std::vector<DiskSet> nodes = each_node(group);
  found.disks_survived = further_failures(group.geometry, found.not_whole, disks);
  found.nodes_survived = further_failures(group.geometry, found.not_whole, nodes);
  found.disks_survived_at_best = further_failures(group.geometry, 0, disks);
  found.nodes_survived_at_best = further_failures(group.geometry, 0, nodes);
  found.condition = condition_of(group, found);
  return found;
}

std::string describe(const Redundancy& found) {
  const std::string_view name = to_string(found.condition);
  const std::uint32_t away = count(found.not_serving);
  const std::uint32_t bad = count(found.not_whole);
  const std::string of_all = fmt::format("{} of {}", bad, counted(found.disks, "disk"));
  const std::string_view are = bad == 1 ? "is" : "are";
  switch (found.condition) {
    case GroupCondition::kWhole:
      if (found.disks_survived_at_best == 0) {
        return fmt::format("{}: {} without redundancy, as configured", name,
                           counted(found.disks, "disk"));
      }
      return fmt::format("{}: all {} ready and replicated; {}", name, counted(found.disks, "disk"),
                         may_fail(found, ""));
    case GroupCondition::kDegraded:
      return fmt::format("{}: {} {} not whole; {}", name, of_all, are, may_fail(found, "more "));
    case GroupCondition::kNoRedundancy:
      return fmt::format("{}: {} {} not whole; the next failure may make data unreadable", name,
                         of_all, are);
    case GroupCondition::kDataAtRisk:
      return fmt::format(
          "{}: {} {} not whole, more than the group survives; data may be unreadable until they "
          "are",
          name, of_all, are);
    case GroupCondition::kNotAvailable: break;
  }
  return fmt::format(
      "{}: {} of {} {} not ready, more than the group survives; commands fail until "
      "they are",
      name, away, counted(found.disks, "disk"), away == 1 ? "is" : "are");
}

}  // namespace moraine::blob
