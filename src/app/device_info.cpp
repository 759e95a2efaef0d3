// moraine device info PATH
#include <fmt/format.h>

#include <array>

#include "app/commands.h"
#include "app/exit_code.h"
#include "app/read_only_device.h"
#include "app/table.h"
#include "base/json.h"
#include "blob/device/recovery.h"
#include "cluster/local/data_folder.h"
#include "io/real/real_world.h"

namespace moraine::app {
namespace {

struct SlotInfo {
  std::uint32_t slot = 0;
  std::string vdisk;
  std::string erasure;
  std::uint64_t blobs = 0;
};

struct DeviceInfo {
  blob::Superblock superblock;
  blob::Root root;
  std::uint64_t checkpoint_chunks = 0;
  std::uint64_t checkpoint_bytes = 0;
  std::uint64_t log_batches = 0;            // To replay after the checkpoint.
  std::array<std::uint32_t, 3> segments{};  // By SegmentUse.
  std::uint64_t live_bytes = 0;
  double free_share = 1;
  blob::Colour colour = blob::Colour::kGreen;
  std::vector<std::string> damage;
  std::vector<SlotInfo> slots;
};

Task<Result<void>> read_log(World world, std::string path, DeviceInfo& info) {
  DiskOptions options;
  options.read_only = true;
  CO_TRY(const std::unique_ptr<Disk> disk, co_await world.disks.open(path, options));
  auto log = co_await blob::recover_log(*disk);
  if (!log) co_return std::unexpected(std::move(log).error().within(path));
  info.superblock = log->superblock;
  info.root = log->root;
  info.checkpoint_chunks = log->manifest.chunks.size();
  for (const auto& chunk : log->manifest.chunks) info.checkpoint_bytes += chunk.location.size;
  info.log_batches = log->plan.replay.size();
  co_return Result<void>();
}

Task<Result<void>> read_owners(World world, std::string path, DeviceInfo& info) {
  CO_TRY(ReadOnlyDevice opened, co_await open_read_only(world, path));
  const blob::SegmentTable& segments = opened.device->segments();
  for (std::uint32_t i = 0; i < segments.count(); ++i) {
    ++info.segments[static_cast<std::size_t>(segments[i].use)];
  }
  info.live_bytes = segments.live_bytes();
  info.free_share = segments.free_share();
  info.colour = segments.colour();
  info.damage = opened.device->damage();
  for (const auto& [slot, disk] : opened.vdisks) {
    const blob::VDiskState& state = disk->state();
    SlotInfo& found = info.slots.emplace_back();
    found.slot = slot - 1u;
    found.blobs = state.index().size();
    if (!state.configured()) continue;
    found.vdisk = state.meta().config->vdisk(state.order()).to_string();
    found.erasure = to_string(state.geometry().species());
  }
  co_await opened.close();
  co_return Result<void>();
}

Task<Result<DeviceInfo>> gather(World world, std::string path) {
  DeviceInfo info;
  CO_TRY_VOID(co_await read_log(world, path, info));
  CO_TRY_VOID(co_await read_owners(world, path, info));
  co_return info;
}

void show_json(const std::string& path, const DeviceInfo& info) {
  Json json;
  json.object().field("path", path);
  json.field("device", fmt::format("{:016x}", info.superblock.device));
  json.field("size", info.superblock.size).field("segment_bytes", info.superblock.segment_bytes);
  json.key("root").object().field("sequence", info.root.sequence);
  json.field("clean", info.root.clean).field("last_sequence", info.root.last_sequence);
  json.field("run", info.root.run).end();
  json.key("checkpoint").object().field("chunks", info.checkpoint_chunks);
  json.field("bytes", info.checkpoint_bytes).field("log_batches", info.log_batches).end();
  json.key("segments").object().field("total", info.superblock.segments);
  json.field("free", info.segments[0]).field("open", info.segments[1]);
  json.field("sealed", info.segments[2]).end();
  json.field("live_bytes", info.live_bytes).field("free_share", info.free_share);
  json.field("colour", to_string(info.colour)).key("damage").array();
  for (const std::string& what : info.damage) json.value(what);
  json.end().key("slots").array();
  for (const SlotInfo& slot : info.slots) {
    json.object().field("slot", slot.slot).field("vdisk", slot.vdisk);
    json.field("erasure", slot.erasure).field("blobs", slot.blobs).end();
  }
  fmt::print("{}\n", json.end().end().take());
}

void show_text(const std::string& path, const DeviceInfo& info) {
  fmt::print("{}: device {:016x}, {}\n", path, info.superblock.device,
             readable_size(info.superblock.size));
  fmt::print("root        update {}, run {}, {}\n", info.root.sequence, info.root.run,
             info.root.clean ? "closed cleanly" : "not closed cleanly");
  fmt::print("checkpoint  {} chunks, {}; {} log batches after it\n", info.checkpoint_chunks,
             readable_size(info.checkpoint_bytes), info.log_batches);
  fmt::print("segments    {} of {}: {} free, {} in use\n", info.superblock.segments,
             readable_size(info.superblock.segment_bytes), info.segments[0],
             info.segments[1] + info.segments[2]);
  fmt::print("space       {} live, {:.1f} % free, {}\n", readable_size(info.live_bytes),
             info.free_share * 100, to_string(info.colour));
  for (const std::string& what : info.damage) fmt::print("DAMAGED     {}\n", what);
  if (info.slots.empty()) return;
  Table table({"SLOT", "VDISK", "ERASURE", "BLOBS"});
  for (const SlotInfo& slot : info.slots) {
    table.add({std::to_string(slot.slot), slot.vdisk, slot.erasure, std::to_string(slot.blobs)});
  }
  fmt::print("{}", table.text());
}

}  // namespace

int run_device_info(const DeviceInfoOptions& options) {
  RealWorld world;
  const auto info = world.run(gather(world.world(), options.path));
  if (!info && info.error().code == Errc::kConflict) {
    return report(kExitData, fmt::format("{}: {}", options.path, in_use_advice(options.path)));
  }
  if (!info) return report(info.error());
  if (options.json) {
    show_json(options.path, *info);
  } else {
    show_text(options.path, *info);
  }
  return info->damage.empty() ? kExitOk : kExitNegative;
}

}  // namespace moraine::app
