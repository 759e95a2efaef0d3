#include "app/node_report.h"

#include <fmt/format.h>

#include "app/json.h"
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
  json.end();
}

void add_group(Json& json, const blob::GroupConfig& group) {
  json.object().field("id", fmt::format("{:x}", group.id.value));
  json.field("generation", group.generation);
  json.field("erasure", to_string(group.geometry.species())).key("disks").array();
  for (std::uint32_t order = 0; order < group.disks.size(); ++order) {
    const blob::DiskAddress& disk = group.disks[order];
    json.object().field("vdisk", group.vdisk(order).to_string());
    json.field("node", disk.node.value).field("device", disk.device).field("slot", disk.slot);
    json.end();
  }
  json.end().end();
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
  gauge("moraine_device_recovery_read_bytes", stats.recovery_bytes_read, "Read when it was opened");
  gauge("moraine_device_segments", device.segments().count(), "Segments");
  gauge("moraine_device_free_segments", device.segments().free(), "Free segments");
  gauge("moraine_device_live_bytes", device.segments().live_bytes(), "Bytes that are needed");
  gauge("moraine_device_used_bytes", device.segments().used_bytes(), "Bytes taken up on the disk");
  counter("moraine_device_trimmed_bytes_total", stats.bytes_trimmed,
          "Bytes of dead data given back to the file system");
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
  gauge("moraine_vdisk_handoffs", disk.state().handoffs().size(), "Blobs to be moved home");
  gauge("moraine_vdisk_ready", disk.phase() == blob::VDisk::Phase::kReady ? 1 : 0,
        "1 when it serves");
  gauge("moraine_vdisk_replicated", disk.replicated() ? 1 : 0, "1 when nothing is missing");
}

}  // namespace

std::string node_status(blob::BlobNode& node, NodeId self) {
  Json json;
  json.object().field("cluster", node.config().name).field("node", self.value);
  json.key("groups").array();
  for (const blob::GroupConfig& group : node.config().groups) add_group(json, group);
  json.end().key("devices").array();
  for_each_device(node, self, [&](const blob::DeviceConfig& config, blob::Device& device) {
    add_device(json, config, device);
  });
  json.end().key("vdisks").array();
  for (const auto& [address, disk] : node.vdisks()) add_vdisk(json, address, *disk);
  return json.end().end().take() + "\n";
}

std::string node_metrics(blob::BlobNode& node, NodeId self) {
  MetricRegistry registry;
  for_each_device(node, self, [&](const blob::DeviceConfig& config, blob::Device& device) {
    count_device(registry, {{"device", std::to_string(config.id)}}, device);
  });
  for (const auto& [address, disk] : node.vdisks()) {
    count_vdisk(registry, {{"device", std::to_string(address.device)}, {"vdisk", name_of(*disk)}},
                *disk);
  }
  return registry.expose() + node.metrics().expose();
}

}  // namespace moraine::app
