// moraine device format PATH
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "app/commands.h"
#include "app/exit_code.h"
#include "app/table.h"
#include "base/json.h"
#include "blob/device/device.h"
#include "cluster/local/cluster_file.h"
#include "cluster/local/data_folder.h"
#include "io/real/real_world.h"

namespace moraine::app {
namespace {

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

// Anything but zeros in the place of the device's own pages is other data.
Task<Result<void>> refuse_foreign(World world, std::string path, std::uint64_t& size) {
  DiskOptions options;
  options.read_only = true;
  CO_TRY(const std::unique_ptr<Disk> disk, co_await world.disks.open(path, options));
  size = disk->size();
  const std::size_t looked_at = std::min<std::uint64_t>(size, blob::kSegmentsOffset);
  if (looked_at == 0) co_return Result<void>();
  CO_TRY(const Slice head, co_await disk->read(0, looked_at));
  if (std::ranges::all_of(head.span(), [](std::byte b) { return b == std::byte{0}; })) {
    co_return Result<void>();
  }
  co_return fail(Errc::kAlreadyExists, path + " is not empty; --force formats over it");
}

Task<Result<blob::Superblock>> format(World world, const DeviceFormatOptions& options) {
  blob::FormatOptions plan;
  plan.prefill_segments = options.prefill;
  plan.force = options.force;
  if (!options.size.empty()) {
    CO_TRY(const std::uint64_t asked, blob::parse_size(options.size));
    CO_TRY_VOID(blob::plan_superblock(asked, choose_segment_bytes(asked)));
    plan.size = align_down(asked, kSectorSize);
  }
  struct stat info{};
  plan.create = ::stat(options.path.c_str(), &info) != 0;
  std::uint64_t size = plan.size;
  if (plan.create && plan.size == 0) {
    co_return wrong(fmt::format("{} does not exist: give its size with --size", options.path));
  }
  if (!plan.create) {
    const auto free = co_await refuse_foreign(world, options.path, size);
    if (!free && !(options.force && free.error().code == Errc::kAlreadyExists)) {
      co_return std::unexpected(free.error());
    }
  }
  const std::uint64_t used = plan.size != 0 ? plan.size : size;
  plan.segment_bytes = choose_segment_bytes(used);
  if (!options.segment_size.empty()) {
    CO_TRY(const std::uint64_t bytes, blob::parse_size(options.segment_size));
    plan.segment_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, ~0u));
  }
  auto formatted = co_await blob::Device::format(world, options.path, plan);
  // Created by this command and useless; a refused format has created nothing.
  const bool made = plan.create && !formatted && formatted.error().code != Errc::kAlreadyExists &&
                    formatted.error().code != Errc::kInvalidArgument;
  if (made) unlink(options.path.c_str());
  co_return formatted;
}

}  // namespace

int run_device_format(const DeviceFormatOptions& options) {
  RealWorld world;
  const auto formatted = world.run(format(world.world(), options));
  if (!formatted && formatted.error().code == Errc::kConflict) {
    return report(kExitData, fmt::format("{}: {}", options.path, in_use_advice(options.path)));
  }
  if (!formatted) return report(formatted.error());
  if (options.json) {
    Json json;
    json.object().field("path", options.path);
    json.field("device", fmt::format("{:016x}", formatted->device));
    json.field("size", formatted->size).field("segment_bytes", formatted->segment_bytes);
    json.field("segments", formatted->segments).end();
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("{}: device {:016x}, {} segments of {}\n", options.path, formatted->device,
               formatted->segments, readable_size(formatted->segment_bytes));
  }
  return kExitOk;
}

}  // namespace moraine::app
