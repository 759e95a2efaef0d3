// moraine blob status
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/json.h"
#include "app/table.h"
#include "io/sync.h"

namespace moraine::app {
namespace {

constexpr Duration kAskEvery = 200ms;
constexpr Duration kAnswerWithin = 5s;

std::string state_of(const blob::DiskState& disk) {
  if (disk.status != blob::Status::kOk) return std::string(to_string(disk.status));
  if (!disk.state.ready) return "recovering";
  return disk.state.replicated ? "ready" : "replicating";
}

void show_json(const blob::GroupConfig& group, const blob::StatusResult& result) {
  Json json;
  json.object().field("status", to_string(result.status)).field("reason", result.reason);
  json.field("group", fmt::format("{:x}", group.id.value)).field("generation", group.generation);
  json.field("erasure", to_string(group.geometry.species()));
  json.field("colour", to_string(result.colour)).field("free_share", result.free_share);
  json.key("disks").array();
  for (std::uint32_t order = 0; order < result.disks.size(); ++order) {
    const blob::DiskState& disk = result.disks[order];
    json.object().field("vdisk", group.vdisk(order).to_string());
    json.field("node", group.disks[order].node.value).field("device", group.disks[order].device);
    json.field("slot", group.disks[order].slot).field("status", to_string(disk.status));
    json.field("ready", disk.state.ready).field("replicated", disk.state.replicated);
    json.field("blobs", disk.state.blobs).field("missing", disk.state.missing);
    json.field("live_bytes", disk.state.live_bytes);
    json.field("capacity_bytes", disk.state.capacity_bytes).end();
  }
  fmt::print("{}\n", json.end().end().take());
}

void show_table(const blob::GroupConfig& group, const blob::StatusResult& result) {
  fmt::print("group {:x} generation {}, {}: {}, {}, {:.1f} % free\n", group.id.value,
             group.generation, to_string(group.geometry.species()), to_string(result.status),
             to_string(result.colour), result.free_share * 100);
  Table table({"VDISK", "NODE", "DEVICE", "STATE", "BLOBS", "MISSING", "LIVE", "CAPACITY"});
  for (std::uint32_t order = 0; order < result.disks.size(); ++order) {
    const blob::DiskState& disk = result.disks[order];
    const bool known = disk.status == blob::Status::kOk;
    table.add({group.vdisk(order).to_string(), std::to_string(group.disks[order].node.value),
               std::to_string(group.disks[order].device), state_of(disk),
               known ? std::to_string(disk.state.blobs) : "-",
               known ? std::to_string(disk.state.missing) : "-",
               known ? readable_size(disk.state.live_bytes) : "-",
               known ? readable_size(disk.state.capacity_bytes) : "-"});
  }
  fmt::print("{}", table.text());
}

bool settled(const blob::StatusResult& result) {
  return result.status == blob::Status::kOk &&
         std::ranges::all_of(result.disks, [](const blob::DiskState& disk) {
           return disk.status == blob::Status::kOk && disk.state.ready && disk.state.replicated;
         });
}

Task<int> status(BlobTarget target, const StatusOptions& options) {
  blob::StatusResult result;
  for (;;) {
    const Instant now = target.executor.now();
    const Instant deadline =
        options.wait ? std::min(target.deadline, now + kAnswerWithin) : target.deadline;
    result = co_await target.proxy.status(blob::StatusRequest{deadline});
    if (!options.wait || settled(result) || target.executor.now() >= target.deadline) break;
    co_await sleep_for(target.executor, kAskEvery);
  }
  const blob::GroupConfig& group = target.proxy.config();
  if (options.target.json) {
    show_json(group, result);
  } else {
    show_table(group, result);
  }
  const bool good = options.wait ? settled(result) : result.status == blob::Status::kOk;
  if (good) co_return kExitOk;
  fmt::print(stderr, "moraine: {}{}{}\n", to_string(result.status),
             result.reason.empty() ? "" : ": ", result.reason);
  co_return kExitNegative;
}

}  // namespace

int run_blob_status(const StatusOptions& options) {
  return run_on_target(options.target, [&](BlobTarget target) { return status(target, options); });
}

}  // namespace moraine::app
