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

}  // namespace moraine::app
