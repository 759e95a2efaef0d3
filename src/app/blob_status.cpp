// moraine blob status
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/table.h"
#include "base/json.h"
#include "base/log.h"
#include "blob/node/group_watch.h"
#include "io/sync.h"

namespace moraine::app {
namespace {

constexpr Duration kAskEvery = 200ms;
constexpr Duration kAnswerWithin = 5s;
constexpr double kLastMoment = 0.05;  // Seconds for a group when the time is up.

// "-" when nothing has to be replicated, else "37 % of 1200".
std::string progress_of(const blob::GetStatusReply& state) {
  const std::uint64_t all = state.restored + state.missing;
  if (state.replicated || all == 0) return "-";
  return fmt::format("{} % of {}", state.restored * 100 / all, all);
}

void add_disk(Json& json, const blob::GroupConfig& group, std::uint32_t order,
              const blob::DiskState& disk) {
  json.object().field("vdisk", group.vdisk(order).to_string());
  json.field("node", group.disks[order].node.value).field("device", group.disks[order].device);
  json.field("slot", group.disks[order].slot).field("status", to_string(disk.status));
  json.field("state", state_word(disk));
  json.field("reason", disk.status == blob::Status::kOk ? disk.state.reason : disk.reason);
  json.field("ready", disk.state.ready).field("replicated", disk.state.replicated);
  json.field("replicating", disk.state.replicating).field("restored", disk.state.restored);
  json.field("blobs", disk.state.blobs).field("missing", disk.state.missing);
  json.field("damaged_found", disk.state.damaged_found);
  json.field("damaged_repaired", disk.state.damaged_repaired);
  json.field("live_bytes", disk.state.live_bytes);
  json.field("capacity_bytes", disk.state.capacity_bytes).end();
}

void show_json(const blob::GroupConfig& group, const blob::StatusResult& result,
               const blob::Redundancy& redundancy) {
  Json json;
  json.object().field("status", to_string(result.status)).field("reason", result.reason);
  json.field("group", fmt::format("{:x}", group.id.value)).field("generation", group.generation);
  json.field("erasure", to_string(group.geometry.species()));
  json.field("condition", to_string(redundancy.condition));
  json.field("health", describe(redundancy));
  json.field("disk_failures_survived", redundancy.disks_survived);
  json.field("disk_failures_survived_at_best", redundancy.disks_survived_at_best);
  json.field("node_failures_survived", redundancy.nodes_survived);
  json.field("node_failures_survived_at_best", redundancy.nodes_survived_at_best);
  json.field("colour", to_string(result.colour)).key("free_share");
  if (result.free_share) {
    json.value(*result.free_share);
  } else {
    json.null();
  }
  json.key("disks").array();
  for (std::uint32_t order = 0; order < result.disks.size(); ++order) {
    add_disk(json, group, order, result.disks[order]);
  }
  fmt::print("{}\n", json.end().end().take());
}

void show_table(const blob::GroupConfig& group, const blob::StatusResult& result,
                const blob::Redundancy& redundancy) {
  const std::string space =
      result.free_share
          ? fmt::format("{}, {:.1f} % free", to_string(result.colour), *result.free_share * 100)
          : std::string("space unknown: no disk answered");
  fmt::print("group {:x} generation {}, {}: {}, {}\n", group.id.value, group.generation,
             to_string(group.geometry.species()), to_string(result.status), space);
  fmt::print("health: {}\n", describe(redundancy));
  Table table({"VDISK", "NODE", "DEVICE", "STATE", "BLOBS", "MISSING", "REPLICATION", "DAMAGED",
               "LIVE", "CAPACITY"});
  for (std::uint32_t order = 0; order < result.disks.size(); ++order) {
    const blob::DiskState& disk = result.disks[order];
    const bool known = disk.status == blob::Status::kOk;
    const std::string damaged = disk.state.damaged_found == 0
                                    ? "0"
                                    : fmt::format("{} ({} repaired)", disk.state.damaged_found,
                                                  disk.state.damaged_repaired);
    table.add({group.vdisk(order).to_string(), std::to_string(group.disks[order].node.value),
               std::to_string(group.disks[order].device), std::string(state_word(disk)),
               known ? std::to_string(disk.state.blobs) : "-",
               known ? std::to_string(disk.state.missing) : "-",
               known ? progress_of(disk.state) : "-", known ? damaged : "-",
               known ? readable_size(disk.state.live_bytes) : "-",
               known ? readable_size(disk.state.capacity_bytes) : "-"});
  }
  fmt::print("{}", table.text());
  for (const std::string& trouble : troubles(group, result)) fmt::print("{}\n", trouble);
}

bool any_answered(const blob::StatusResult& result) {
  return std::ranges::any_of(result.disks, [](const blob::DiskState& disk) {
    return disk.status == blob::Status::kOk || disk.status == blob::Status::kNotReady;
  });
}

// Disks with another config of this generation answer nothing else.
bool config_refused(const blob::StatusResult& result) {
  return !any_answered(result) &&
         std::ranges::any_of(result.disks, [](const blob::DiskState& disk) {
           return disk.status == blob::Status::kRace;
         });
}

// The exit code: docs/operations.md has the table.
int code_of(const blob::StatusResult& result, const blob::Redundancy& redundancy, bool wait) {
  if (config_refused(result)) return kExitData;
  if (!any_answered(result)) return kExitUnreachable;
  if (wait) {
    return redundancy.condition == blob::GroupCondition::kWhole ? kExitOk : kExitNegative;
  }
  return redundancy.condition <= blob::GroupCondition::kDegraded ? kExitOk : kExitNegative;
}

Task<int> status(BlobTarget target, const StatusOptions& options) {
  blob::StatusResult result;
  blob::Redundancy redundancy;
  for (;;) {
    blob::StatusRequest request;
    request.deadline = std::min(target.deadline, target.executor.now() + kAnswerWithin);
    blob::StatusResult asked = co_await target.proxy.status(request);
    const bool late = target.executor.now() >= target.deadline;
    // An answer that the deadline cut short says less than the one before it.
    if (!late || result.disks.empty()) result = std::move(asked);
    redundancy = redundancy_of(target.proxy.config(), result);
    if (!options.wait || late || redundancy.condition == blob::GroupCondition::kWhole) break;
    const Duration left = target.deadline - target.executor.now();
    co_await sleep_for(target.executor, std::min(kAskEvery, std::max(left, Duration(1ms))));
  }
  const blob::GroupConfig& group = target.proxy.config();
  if (options.target.json) {
    show_json(group, result, redundancy);
  } else {
    show_table(group, result, redundancy);
  }
  const int code = code_of(result, redundancy, options.wait);
  if (code == kExitOk) co_return code;
  const bool waited = options.wait && redundancy.condition <= blob::GroupCondition::kDegraded;
  fmt::print(stderr, "moraine: {}{}\n", waited ? "not whole in time: " : "", describe(redundancy));
  co_return code;
}

// The named group, or all in turn; each within the time that is left.
int run_on_each_group(StatusOptions options) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> groups{options.target.group};
  if (options.target.group.empty()) {
    // The command itself reports errors of the target.
    const auto config = config_of_target(options.target);
    if (config && config->groups.size() > 1) groups.clear();
    for (std::size_t i = 0; config && groups.size() < config->groups.size(); ++i) {
      groups.push_back(fmt::format("{:x}", config->groups[i].id.value));
    }
  }
  const double timeout = options.target.timeout_seconds;
  int worst = kExitOk;
  for (const std::string& group : groups) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    options.target.group = group;
    options.target.timeout_seconds = std::max(timeout - spent.count(), kLastMoment);
    const int code =
        run_on_target(options.target, [&](BlobTarget target) { return status(target, options); });
    worst = std::max(worst, code);
  }
  return worst;
}

}  // namespace

int run_blob_status(const StatusOptions& options) {
  StatusOptions asked = options;
  asked.target.tells_of_silence = true;
  asked.target.wait_for_node = options.wait;
  // Peers that are down are in the answer.
  const LogLevel level = log_level();
  if (level == LogLevel::kWarning) set_log_level(LogLevel::kError);
  const int code = run_on_each_group(asked);
  set_log_level(level);
  return code;
}

}  // namespace moraine::app
