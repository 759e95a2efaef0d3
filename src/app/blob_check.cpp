// moraine blob check
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/device_check.h"
#include "app/exit_code.h"
#include "app/table.h"
#include "base/json.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"
#include "io/real/real_world.h"

namespace moraine::app {
namespace {

constexpr std::size_t kTextDamageMax = 100;  // Lines of each kind; JSON has them all.

Result<blob::ClusterConfig> config_of(const CheckOptions& options) {
  if (!options.config.empty()) return load_cluster_file(options.config);
  TRY(DataFolder folder, open_data_folder(options.data.empty() ? kDefaultData : options.data));
  return std::move(folder.config);
}

Task<std::vector<DeviceReport>> check_all(World world, std::vector<std::string> paths,
                                          const CheckOptions& options) {
  std::vector<DeviceReport> reports;
  std::unique_ptr<Progress> progress;
  CheckWatcher watcher;
  watcher.begin = [&](const std::string& path, std::uint64_t total) {
    progress = std::make_unique<Progress>(path, total, options.json);
  };
  watcher.verified = [&](std::uint64_t bytes) { progress->add(bytes); };
  for (const std::string& path : paths) {
    reports.push_back(co_await check_device(world, path, watcher));
    progress.reset();
  }
  co_return reports;
}

template <class Items, class Print>
void print_some(const Items& items, std::uint64_t total, Print print) {
  for (std::size_t i = 0; i < std::min(items.size(), kTextDamageMax); ++i) print(items[i]);
  if (total > kTextDamageMax) fmt::print("    and {} more\n", total - kTextDamageMax);
}

void show(const VDiskReport& vdisk) {
  fmt::print("  slot {} {}: {}, {}, {}", vdisk.slot,
             vdisk.vdisk.empty() ? "(no group)" : vdisk.vdisk, counted(vdisk.blobs, "blob"),
             counted(vdisk.parts, "part"), readable_size(vdisk.bytes));
  fmt::print("; {} missing, {}, {}\n", vdisk.missing, counted(vdisk.blocks, "block"),
             counted(vdisk.barriers, "barrier"));
  print_some(vdisk.damaged_parts, vdisk.damaged, [](const DamagedPart& part) {
    fmt::print("    DAMAGED {}: {}\n", part.id.to_string(), part.why);
  });
  print_some(vdisk.inconsistencies, vdisk.inconsistent,
             [](const std::string& what) { fmt::print("    INCONSISTENT {}\n", what); });
}

// A device that could not be read is not damage.
bool was_checked(const DeviceReport& device) {
  return !device.unusable || device.unusable->code == Errc::kCorrupt ||
         device.unusable->code == Errc::kNotFound;
}

// Why it was not checked, and what to do.
std::string obstacle(const DeviceReport& device) {
  if (device.unusable->code != Errc::kConflict) return device.unusable->message();
  return in_use_advice(device.path);
}

void show(const DeviceReport& device) {
  if (!was_checked(device)) {
    fmt::print("{}: NOT CHECKED: {}\n", device.path, obstacle(device));
    return;
  }
  fmt::print("{}: {}, {} live\n", device.path, device.sound() ? "sound" : "DAMAGED",
             readable_size(device.live_bytes));
  if (device.unusable) fmt::print("  UNUSABLE {}\n", device.unusable->message());
  print_some(device.damage, device.damage.size(),
             [](const std::string& what) { fmt::print("  DAMAGED {}\n", what); });
  for (const VDiskReport& vdisk : device.vdisks) show(vdisk);
}

void add(Json& json, const VDiskReport& vdisk) {
  json.object().field("slot", vdisk.slot).field("vdisk", vdisk.vdisk);
  json.field("blobs", vdisk.blobs).field("parts", vdisk.parts).field("bytes", vdisk.bytes);
  json.field("missing", vdisk.missing).field("blocks", vdisk.blocks);
  json.field("barriers", vdisk.barriers).field("damaged", vdisk.damaged);
  json.key("damaged_parts").array();
  for (const DamagedPart& part : vdisk.damaged_parts) {
    json.object().field("id", part.id.to_string()).field("why", part.why).end();
  }
  json.end().field("inconsistent", vdisk.inconsistent).key("inconsistencies").array();
  for (const std::string& what : vdisk.inconsistencies) json.value(what);
  json.end().end();
}

void show_json(const std::vector<DeviceReport>& devices, bool sound) {
  Json json;
  json.object().field("sound", sound).key("devices").array();
  for (const DeviceReport& device : devices) {
    json.object().field("path", device.path).field("checked", was_checked(device));
    json.field("sound", device.sound());
    if (!was_checked(device)) {
      json.field("unusable", obstacle(device));
    } else if (device.unusable) {
      json.field("unusable", device.unusable->message());
    }
    json.field("live_bytes", device.live_bytes).key("damage").array();
    for (const std::string& what : device.damage) json.value(what);
    json.end().key("vdisks").array();
    for (const VDiskReport& vdisk : device.vdisks) add(json, vdisk);
    json.end().end();
  }
  fmt::print("{}\n", json.end().end().take());
}

// The exit code. Damage has precedence over devices that were not checked: it is certain.
int verdict(const std::vector<DeviceReport>& devices) {
  std::size_t damaged = 0;
  const DeviceReport* skipped = nullptr;
  std::size_t skips = 0;
  for (const DeviceReport& device : devices) {
    if (!was_checked(device)) {
      if (skips++ == 0) skipped = &device;
    } else if (!device.sound()) {
      ++damaged;
    }
  }
  if (skipped) {
    const std::string others = skips > 1 ? fmt::format(" (and {} more)", skips - 1) : "";
    fmt::print(stderr, "moraine: not checked: {}{}: {}\n", skipped->path, others,
               obstacle(*skipped));
  }
  if (damaged > 0) {
    fmt::print(stderr, "moraine: damage was found\n");
    return kExitNegative;
  }
  if (!skipped) return kExitOk;
  return skipped->unusable->code == Errc::kConflict ? kExitData
                                                    : exit_code_of(skipped->unusable->code);
}

}  // namespace

int run_blob_check(const CheckOptions& options) {
  const auto config = config_of(options);
  if (!config) return report(kExitData, config.error());
  if (options.node != 0 && !config->node(NodeId{options.node})) {
    return report(kExitUsage, fmt::format("the config has no node {}", options.node));
  }
  std::vector<std::string> paths;
  for (const blob::NodeConfig& node : config->nodes) {
    if (options.node != 0 && node.id.value != options.node) continue;
    for (const blob::DeviceConfig& device : node.devices) paths.push_back(device.path);
  }
  RealWorld world;
  const std::vector<DeviceReport> devices =
      world.run(check_all(world.world(), std::move(paths), options));
  if (options.json) {
    show_json(devices, std::ranges::all_of(devices, &DeviceReport::sound));
  } else {
    for (const DeviceReport& device : devices) show(device);
  }
  return verdict(devices);
}

}  // namespace moraine::app
