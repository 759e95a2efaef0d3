#include "app/read_only_device.h"

namespace moraine::app {

Task<Result<ReadOnlyDevice>> open_read_only(World world, std::string path) {
  blob::DeviceOptions options;
  options.read_only = true;
  ReadOnlyDevice opened;
  // Owners are created while the device is being opened; the device and this object share them.
  auto found = std::make_shared<decltype(opened.vdisks)>();
  blob::Device::OwnerFactory factory = [found](blob::Device& device, blob::OwnerSlot slot) {
    blob::VDiskOptions vdisk_options;
    vdisk_options.cache_bytes = 0;
    auto disk = std::make_shared<blob::VDisk>(device, slot, vdisk_options);
    (*found)[slot] = disk;
    return disk;
  };
  CO_TRY(opened.device,
         co_await blob::Device::open(world, std::move(path), options, std::move(factory)));
  opened.vdisks = std::move(*found);
  co_return std::move(opened);
}

Task<void> ReadOnlyDevice::close() {
  co_await device->stop();
  vdisks.clear();
  device.reset();
}

Task<Result<FixedPages>> read_fixed_pages(World world, std::string path) {
  DiskOptions options;
  options.read_only = true;
  CO_TRY(const std::unique_ptr<Disk> disk, co_await world.disks.open(path, options));
  const std::uint64_t pages = blob::kSuperblockCopies + blob::kRootSlots;
  if (disk->size() < pages * kSectorSize) {
    co_return fail(Errc::kCorrupt,
                   fmt::format("{}: not a moraine device: it has less than {} bytes", path,
                               pages * kSectorSize));
  }
  CO_TRY(const Slice sectors, co_await disk->read(0, pages * kSectorSize));
  FixedPages fixed;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const Slice sector = sectors.sub(page * kSectorSize, kSectorSize);
    if (page < blob::kSuperblockCopies) {
      fixed.superblocks.push_back(blob::decode_superblock(sector));
    } else {
      fixed.roots.push_back(blob::decode_root(sector));
    }
  }
  co_return fixed;
}

}  // namespace moraine::app
