#include "app/node_report.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>

#include "app/process_metrics.h"
#include "app/version.h"
#include "base/json.h"
#include "base/metrics.h"

namespace moraine::app {
namespace {

std::string_view name_of(blob::VDisk::Phase phase) {
  switch (phase) {
    case blob::VDisk::Phase::kIdle: return "idle";
    case blob::VDisk::Phase::kRecovering: return "recovering";
    case blob::VDisk::Phase::kReady: return "ready";
    case blob::VDisk::Phase::kRetired: return "retired";
    case blob::VDisk::Phase::kBroken: break;
  }
  return "broken";
}

std::string name_of(const blob::VDisk& disk) {
  const blob::VDiskState& state = disk.state();
  return state.configured() ? state.meta().config->vdisk(state.order()).to_string() : "";
}

// Calls visit(config, device) for every device of the node that is open.
template <class Visit>
void for_each_device(blob::BlobNode& node, NodeId self, Visit visit) {
  const blob::NodeConfig* own = node.config().node(self);
  if (!own) return;
  for (const blob::DeviceConfig& config : own->devices) {
    if (blob::Device* device = node.device(config.id)) visit(config, *device);
  }
}

void add_device(Json& json, const blob::DeviceConfig& config, blob::Device& device) {
  const blob::SegmentTable& segments = device.segments();
  const blob::DeviceStats& stats = device.stats();
  json.object().field("id", config.id).field("path", config.path);
  json.field("size", device.superblock().size).field("segments", segments.count());
  json.field("free_segments", segments.free()).field("live_bytes", segments.live_bytes());
  json.field("used_bytes", segments.used_bytes());
  json.field("free_share", segments.free_share()).field("colour", to_string(device.colour()));
  json.field("batches", stats.batches).field("bytes_appended", stats.bytes_appended);
  json.field("checkpoints", stats.checkpoints);
  json.key("failure");
  if (device.failure()) {
    json.value(device.failure()->message());
  } else {
    json.null();
  }
  json.key("damage").array();
  for (const std::string& what : device.damage()) json.value(what);
  json.end().end();
}

void add_vdisk(Json& json, const blob::DiskAddress& address, const blob::VDisk& disk) {
  const blob::VDiskState& state = disk.state();
  json.object().field("vdisk", name_of(disk)).field("device", address.device);
  json.field("slot", address.slot).field("phase", name_of(disk.phase()));
  if (!disk.broken_reason().empty()) json.field("reason", disk.broken_reason());
  json.field("replicated", disk.replicated()).field("blobs", state.index().size());
  json.field("missing", state.missing().size()).field("handoffs", state.handoffs().size());
  json.field("replicating", disk.events().replicating());
  json.field("restored", disk.events().restored_now());
  json.field("damaged_found", disk.events().damaged_found());
  json.field("damaged_repaired", disk.events().damaged_repaired());
  json.end();
}

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// The last replies of the group's disks, and the group's health. Groups without a member here are
// not polled: their health is null.
void add_health(Json& json, const blob::GroupReport* report, Instant now) {
  if (!report) {
    json.key("health").null();
    return;
  }
  const blob::Redundancy& redundancy = report->redundancy;
  json.field("condition", to_string(redundancy.condition)).field("health", describe(redundancy));
  json.field("disk_failures_survived", redundancy.disks_survived);
  json.field("disk_failures_survived_at_best", redundancy.disks_survived_at_best);
  json.field("node_failures_survived", redundancy.nodes_survived);
  json.field("node_failures_survived_at_best", redundancy.nodes_survived_at_best);
  json.field("missing", report->missing()).field("asked_seconds_ago", seconds(now - report->asked));
}

void add_group(Json& json, const blob::GroupConfig& configured, const blob::GroupReport* report,
               Instant now) {
  // A newer generation may be known than the config that the node was started with.
  const blob::GroupConfig& group = report ? report->config : configured;
  json.object().field("id", fmt::format("{:x}", group.id.value));
  json.field("generation", group.generation);
  json.field("erasure", to_string(group.geometry.species()));
  add_health(json, report, now);
  json.key("disks").array();
  for (std::uint32_t order = 0; order < group.disks.size(); ++order) {
    const blob::DiskAddress& disk = group.disks[order];
    json.object().field("vdisk", group.vdisk(order).to_string());
    json.field("node", disk.node.value).field("device", disk.device).field("slot", disk.slot);
    if (report) {
      const blob::DiskState& state = report->status.disks[order];
      json.field("state", state_word(state)).field("missing", state.state.missing);
      json.field("replicating", state.state.replicating).field("restored", state.state.restored);
      const std::string& reason =
          state.status == blob::Status::kOk ? state.state.reason : state.reason;
      if (!reason.empty()) json.field("reason", reason);
    }
    json.end();
  }
  json.end().end();
}

void add_peers(Json& json, const NodeView& view) {
  json.key("peers").array();
  for (const auto& [node, peer] : view.peers) {
    json.object().field("node", node.value).field("address", to_string(peer.address));
    json.field("state", peer.up ? "up" : peer.down_since ? "down" : "not called");
    if (peer.down_since) {
      json.field("down_seconds", seconds(view.now - *peer.down_since)).field("reason", peer.reason);
    }
    json.end();
  }
  json.end();
}

void count_device(MetricRegistry& registry, const MetricLabels& labels, blob::Device& device) {
  const blob::DeviceStats& stats = device.stats();
  const auto counter = [&](std::string_view name, std::uint64_t value, std::string_view help) {
    registry.counter(name, labels, help).add(value);
  };
  const auto gauge = [&](std::string_view name, std::uint64_t value, std::string_view help) {
    registry.gauge(name, labels, help).set(static_cast<std::int64_t>(value));
  };
  counter("moraine_device_batches_total", stats.batches, "Group commits");
  counter("moraine_device_appended_bytes_total", stats.bytes_appended, "Bytes of group commits");
  counter("moraine_device_checkpoints_total", stats.checkpoints, "Checkpoints written");
  counter("moraine_device_segments_freed_total", stats.segments_freed, "Segments freed");
  counter("moraine_device_segments_evacuated_total", stats.segments_evacuated,
          "Segments that cleaning emptied");
  gauge("moraine_device_recovery_read_bytes", stats.recovery_bytes_read,
        "Bytes read when it was opened");
  gauge("moraine_device_segments", device.segments().count(), "Segments");
  gauge("moraine_device_free_segments", device.segments().free(), "Free segments");
  gauge("moraine_device_live_bytes", device.segments().live_bytes(), "Bytes of live data");
  gauge("moraine_device_used_bytes", device.segments().used_bytes(), "Bytes taken up on the disk");
  counter("moraine_device_trimmed_bytes_total", stats.bytes_trimmed,
          "Bytes of dead data returned to the file system");
  gauge("moraine_device_size_bytes", device.superblock().size, "Size");
  gauge("moraine_device_colour", static_cast<std::uint64_t>(device.colour()),
        "Space colour: 0 green to 8 black");
  gauge("moraine_device_failed", device.failure() ? 1 : 0, "1 after a failed write");
}

void count_vdisk(MetricRegistry& registry, const MetricLabels& labels, const blob::VDisk& disk) {
  const auto gauge = [&](std::string_view name, std::uint64_t value, std::string_view help) {
    registry.gauge(name, labels, help).set(static_cast<std::int64_t>(value));
  };
  gauge("moraine_vdisk_blobs", disk.state().index().size(), "Index entries");
  gauge("moraine_vdisk_missing", disk.state().missing().size(), "Blobs to be replicated");
  gauge("moraine_vdisk_handoffs", disk.state().handoffs().size(),
        "Blobs whose parts are to be moved to their main");
  gauge("moraine_vdisk_ready", disk.phase() == blob::VDisk::Phase::kReady ? 1 : 0,
        "1 when it serves");
  gauge("moraine_vdisk_replicated", disk.replicated() ? 1 : 0,
        "1 when all that was missing when the last pass began is restored");
  gauge("moraine_vdisk_broken", disk.phase() == blob::VDisk::Phase::kBroken ? 1 : 0,
        "1 when it does not serve until its device is repaired or replaced");
  gauge("moraine_vdisk_retired", disk.phase() == blob::VDisk::Phase::kRetired ? 1 : 0,
        "1 when the group has moved it elsewhere");
  gauge("moraine_vdisk_replicating", disk.events().replicating() ? 1 : 0,
        "1 while missing parts are being restored");
  const auto counter = [&](std::string_view name, std::uint64_t value, std::string_view help) {
    registry.counter(name, labels, help).add(value);
  };
  counter("moraine_vdisk_restored_parts_total", disk.events().restored(),
          "Parts that replication has restored");
  counter("moraine_vdisk_damaged_parts_total", disk.events().damaged_found(),
          "Parts found with a wrong checksum");
  counter("moraine_vdisk_repaired_parts_total", disk.events().damaged_repaired(),
          "Damaged parts that were repaired");
}

void count_group(MetricRegistry& registry, const blob::GroupReport& report) {
  const MetricLabels labels{{"group", fmt::format("{:x}", report.config.id.value)}};
  const auto gauge = [&](std::string_view name, std::int64_t value, std::string_view help) {
    registry.gauge(name, labels, help).set(value);
  };
  const blob::Redundancy& redundancy = report.redundancy;
  gauge("moraine_group_condition", static_cast<std::int64_t>(redundancy.condition),
        "0 whole, 1 degraded, 2 no redundancy left, 3 data at risk, 4 not available");
  gauge("moraine_group_disk_failures_survived", redundancy.disks_survived,
        "How many more disks may fail; -1: more have failed than the group survives");
  gauge("moraine_group_node_failures_survived", redundancy.nodes_survived,
        "How many more nodes may fail; -1: more have failed than the group survives");
  gauge("moraine_group_disk_failures_survived_at_best", redundancy.disks_survived_at_best,
        "The same when every disk is whole");
  gauge("moraine_group_disks", redundancy.disks, "Disks of the group");
  gauge("moraine_group_disks_not_ready", std::popcount(redundancy.not_serving),
        "Disks that do not serve");
  gauge("moraine_group_disks_not_whole", std::popcount(redundancy.not_whole),
        "Disks that do not serve, or miss parts");
  gauge("moraine_group_missing_blobs", static_cast<std::int64_t>(report.missing()),
        "Blobs to be replicated, over all disks that answer");
  gauge("moraine_group_generation", report.config.generation, "Generation of its config");
}

void count_peers(MetricRegistry& registry, const NodeView& view) {
  for (const auto& [node, peer] : view.peers) {
    if (!peer.called) continue;
    const MetricLabels labels{{"peer", std::to_string(node.value)}};
    registry.gauge("moraine_peer_up", labels, "1 when this node has a connection to it")
        .set(peer.up ? 1 : 0);
  }
}

}  // namespace

std::string node_status(const NodeView& view) {
  Json json;
  json.object().field("version", kVersion).field("uptime_seconds", uptime_seconds());
  json.field("cluster", view.node.config().name).field("node", view.self.value);
  json.key("groups").array();
  for (const blob::GroupConfig& group : view.node.config().groups) {
    const auto found = view.groups.groups().find(group.id);
    const bool known = found != view.groups.groups().end();
    add_group(json, group, known ? &found->second : nullptr, view.now);
  }
  json.end();
  add_peers(json, view);
  json.key("devices").array();
  for_each_device(view.node, view.self,
                  [&](const blob::DeviceConfig& config, blob::Device& device) {
                    add_device(json, config, device);
                  });
  json.end().key("vdisks").array();
  for (const auto& [address, disk] : view.node.vdisks()) add_vdisk(json, address, *disk);
  return json.end().end().take() + "\n";
}

std::string node_metrics(const NodeView& view) {
  MetricRegistry registry;
  for_each_device(view.node, view.self,
                  [&](const blob::DeviceConfig& config, blob::Device& device) {
                    count_device(registry, {{"device", std::to_string(config.id)}}, device);
                  });
  for (const auto& [address, disk] : view.node.vdisks()) {
    count_vdisk(registry, {{"device", std::to_string(address.device)}, {"vdisk", name_of(*disk)}},
                *disk);
  }
  for (const auto& [group, report] : view.groups.groups()) count_group(registry, report);
  count_peers(registry, view);
  return registry.expose() + view.node.metrics().expose();
}

}  // namespace moraine::app
