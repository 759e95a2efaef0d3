#include "blob/node/group_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/log.h"

namespace moraine::blob {
namespace {

bool same(const std::optional<Redundancy>& a, const Redundancy& b) {
  return a && a->condition == b.condition && a->not_whole == b.not_whole &&
         a->not_serving == b.not_serving;
}

std::string why(const DiskState& disk) {
  if (disk.status != Status::kOk) return disk.reason;
  if (disk.state.broken) return disk.state.reason;
  if (!disk.state.ready) {
    if (!disk.state.reason.empty()) return disk.state.reason;
    return "it waits for a quorum of its group, or recovers the group's index";
  }
  return fmt::format("missing blobs {}, restored parts {}", disk.state.missing,
                     disk.state.restored);
}

}  // namespace

std::uint64_t GroupReport::missing() const {
  std::uint64_t sum = 0;
  for (const DiskState& disk : status.disks) sum += disk.state.missing;
  return sum;
}

Redundancy redundancy_of(const GroupConfig& config, const StatusResult& status) {
  DiskSet serving = 0;
  DiskSet replicated = 0;
  for (std::uint32_t order = 0; order < status.disks.size(); ++order) {
    if (status.disks[order].serves()) serving |= disk_bit(order);
    if (status.disks[order].whole()) replicated |= disk_bit(order);
  }
  return redundancy(config, serving, replicated);
}

std::string_view state_word(const DiskState& disk) {
  if (disk.status == Status::kDeadline) return "silent";
  if (disk.status == Status::kRace) return "refuses";
  if (disk.status != Status::kOk) return "unreachable";
  if (disk.state.broken) return "broken";
  if (!disk.state.ready) return "recovering";
  return disk.state.replicated ? "ready" : "replicating";
}

std::vector<std::string> troubles(const GroupConfig& config, const StatusResult& status) {
  std::vector<std::string> list;
  for (std::uint32_t order = 0; order < status.disks.size(); ++order) {
    const DiskState& disk = status.disks[order];
    if (disk.whole()) continue;
    const DiskAddress& at = config.disks[order];
    list.push_back(fmt::format("{} on node {} device {} is {}: {}", config.vdisk(order).to_string(),
                               at.node.value, at.device, state_word(disk), why(disk)));
  }
  return list;
}

GroupWatch::GroupWatch(World world, BlobNode& node, GroupWatchOptions options)
    : world_(world), node_(node), options_(options) {}

Task<void> GroupWatch::stop() {
  tasks_.close();
  co_await tasks_.join();
}

Task<void> GroupWatch::run() {
  while (!tasks_.closed()) {
    std::set<GroupId> here;
    for (const auto& [address, disk] : node_.vdisks()) {
      const bool member = disk->state().configured() && disk->phase() != VDisk::Phase::kRetired;
      if (member) here.insert(disk->state().meta().config->id);
    }
    std::erase_if(reports_, [&](const auto& entry) { return !here.contains(entry.first); });
    std::erase_if(histories_, [&](const auto& entry) { return !here.contains(entry.first); });
    TaskScope asking;
    for (const GroupId group : here) asking.spawn(ask(group));
    co_await asking.join();
    co_await sleep_for(world_.executor, options_.period, tasks_);
  }
}

Task<void> GroupWatch::ask(GroupId group) {
  Proxy* const proxy = node_.proxy(group);
  if (!proxy) co_return;
  GroupReport report;
  report.asked = world_.executor.now();
  StatusRequest request;
  request.deadline = report.asked + options_.answer_within;
  report.status = co_await proxy->status(request);
  report.config = proxy->config();
  // The group grew or the proxy was stopped: the next report will match.
  if (tasks_.closed() || report.status.disks.size() != report.config.disks.size()) co_return;
  report.redundancy = redundancy_of(report.config, report.status);
  note(report);
  reports_[group] = std::move(report);
}

void GroupWatch::note(const GroupReport& report) {
  History& history = histories_[report.config.id];
  const bool stable = same(history.seen, report.redundancy);
  history.seen = report.redundancy;
  if (!stable || same(history.logged, report.redundancy)) return;
  const bool better = !history.logged || report.redundancy.condition < history.logged->condition;
  history.logged = report.redundancy;
  log(report, better);
}

void GroupWatch::log(const GroupReport& report, bool better) {
  const std::string id = fmt::format("{:x}", report.config.id.value);
  const std::string health = describe(report.redundancy);
  const std::string disks =
      fmt::format("{}", fmt::join(troubles(report.config, report.status), "; "));
  const GroupCondition condition = report.redundancy.condition;
  if (condition == GroupCondition::kWhole) {
    log_info("group health", {{"group", id}, {"health", health}});
  } else if (better || condition == GroupCondition::kDegraded) {
    log_warning("group health", {{"group", id}, {"health", health}, {"disks", disks}});
  } else {
    log_error("group health", {{"group", id}, {"health", health}, {"disks", disks}});
  }
}

}  // namespace moraine::blob
