#include "app/device_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/read_only_device.h"
#include "blob/device/batch.h"
#include "blob/group/erasure.h"
#include "io/sync.h"

namespace moraine::app {
namespace {

constexpr std::size_t kReadsInFlight = 16;

struct LivePart {
  blob::BlobId id;
  blob::Location location;
  VDiskReport* owner = nullptr;
};

void note(VDiskReport& report, std::string what) {
  ++report.inconsistent;
  if (report.inconsistencies.size() < kDamageListedMax) {
    report.inconsistencies.push_back(std::move(what));
  }
}

// Checks one entry against the group: whether this disk may have these parts.
void check_placement(const blob::VDiskState& state, const blob::BlobId& id, std::uint32_t part,
                     VDiskReport& report) {
  const int slot = state.own_slot(id);
  if (slot < 0) {
    note(report, fmt::format("{} does not belong on this disk", id.to_string()));
  } else if (!state.geometry().allowed(static_cast<std::uint32_t>(slot), part)) {
    note(report, fmt::format("{} may not be on slot {}", id.with_part(part).to_string(), slot));
  }
}

void check_location(const blob::Device& device, const blob::SegmentTable& segments,
                    const LivePart& part) {
  const blob::Location& at = part.location;
  const std::string name = part.id.to_string();
  if (at.segment >= device.superblock().segments ||
      std::uint64_t{at.offset} + at.size > device.superblock().segment_bytes ||
      at.offset < blob::table_bytes(at.size)) {
    note(*part.owner, fmt::format("{} lies outside the device", name));
  } else if (segments[at.segment].use == blob::SegmentUse::kFree) {
    note(*part.owner, fmt::format("{} lies in segment {}, which is free", name, at.segment));
  }
}

// Adds the parts of one VDisk to `parts`.
void check_index(const blob::VDisk& disk, VDiskReport& report, std::vector<LivePart>& parts) {
  const blob::VDiskState& state = disk.state();
  if (!state.configured()) {
    if (state.index().size() > 0) note(report, "blobs without a group");
    return;
  }
  report.vdisk = state.meta().config->vdisk(state.order()).to_string();
  report.blobs = state.index().size();
  report.missing = state.missing().size();
  report.blocks = state.blocks().size();
  report.barriers = state.barriers().all().size();
  for (const auto& [id, entry] : state.index().entries()) {
    if (id.part() != 0 || id.tablet().value == 0 || id.size() == 0 ||
        id.size() > blob::kBlobSizeMax) {
      note(report, fmt::format("{} is not a valid blob id", id.to_string()));
      continue;
    }
    const std::uint8_t local = state.index().local_parts(id);
    for (std::uint32_t part = 1; part <= blob::kPartsMax; ++part) {
      if ((local >> (part - 1) & 1) == 0) continue;
      check_placement(state, id, part, report);
      const auto location = state.index().locate(id.with_part(part));
      parts.push_back({id.with_part(part), *location, &report});
      ++report.parts;
      report.bytes += location->size;
    }
  }
}

// Where a part's bytes begin, with its table.
std::uint64_t start_of(const LivePart& part) {
  return part.location.offset -
         std::min(part.location.offset, blob::table_bytes(part.location.size));
}

void check_overlaps(std::vector<LivePart>& parts) {
  std::ranges::sort(parts, {}, [](const LivePart& part) {
    return std::pair(part.location.segment, part.location.offset);
  });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const LivePart& before = parts[i - 1];
    if (before.location.segment == parts[i].location.segment &&
        std::uint64_t{before.location.offset} + before.location.size > start_of(parts[i])) {
      note(*parts[i].owner,
           fmt::format("{} and {} overlap", before.id.to_string(), parts[i].id.to_string()));
    }
  }
}

Task<Result<void>> verify(blob::Device& device, blob::Location location) {
  CO_TRY_VOID(co_await device.read(location, 0, location.size));
  // Reading one byte uses the table, which a whole read does not need.
  if (location.size > blob::kChecksumBlock) {
    CO_TRY_VOID(co_await device.read(location, 0, 1));
  }
  co_return Result<void>();
}

Task<void> verify_part(blob::Device& device, LivePart part, const CheckWatcher& watcher,
                       Semaphore& turn) {
  const auto intact = co_await verify(device, part.location);
  if (!intact) {
    ++part.owner->damaged;
    if (part.owner->damaged_parts.size() < kDamageListedMax) {
      part.owner->damaged_parts.push_back({part.id, intact.error().message()});
    }
  }
  watcher.verified(part.location.size);
  turn.release();
}

// In the order of the disk, several concurrently.
Task<void> verify_all(blob::Device& device, const std::vector<LivePart>& parts,
                      const CheckWatcher& watcher) {
  TaskScope scope;
  Semaphore turn(device.world().executor, kReadsInFlight);
  for (const LivePart& part : parts) {
    if (part.location.segment >= device.superblock().segments) continue;
    co_await turn.acquire();
    scope.spawn(verify_part(device, part, watcher, turn));
  }
  co_await scope.join();
}

Task<Result<void>> check_opened(World world, DeviceReport& report, const CheckWatcher& watcher) {
  CO_TRY(ReadOnlyDevice opened, co_await open_read_only(world, report.path));
  report.damage.insert(report.damage.end(), opened.device->damage().begin(),
                       opened.device->damage().end());
  report.live_bytes = opened.device->segments().live_bytes();
  report.vdisks.resize(opened.vdisks.size());
  std::vector<LivePart> parts;
  std::size_t next = 0;
  for (const auto& [slot, disk] : opened.vdisks) {
    VDiskReport& vdisk = report.vdisks[next++];
    vdisk.slot = slot - 1u;
    if (disk->state().meta().state == blob::LocalState::kLost) {
      report.damage.push_back(
          fmt::format("slot {}: acknowledged records were lost and are not restored", vdisk.slot));
    }
    check_index(*disk, vdisk, parts);
  }
  std::uint64_t total = 0;
  for (const LivePart& part : parts) {
    check_location(*opened.device, opened.device->segments(), part);
    total += part.location.size;
  }
  check_overlaps(parts);
  watcher.begin(report.path, total);
  co_await verify_all(*opened.device, parts, watcher);
  co_await opened.close();
  co_return Result<void>();
}

}  // namespace

bool DeviceReport::sound() const {
  return !unusable && damage.empty() && std::ranges::all_of(vdisks, [](const VDiskReport& vdisk) {
    return vdisk.damaged == 0 && vdisk.inconsistent == 0;
  });
}

Task<DeviceReport> check_device(World world, std::string path, const CheckWatcher& watcher) {
  DeviceReport report;
  report.path = std::move(path);
  const auto checked = co_await check_opened(world, report, watcher);
  if (!checked) report.unusable = checked.error();
  co_return report;
}

}  // namespace moraine::app
