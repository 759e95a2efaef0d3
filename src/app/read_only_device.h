// A device opened read-only, with the VDisks of its log.
//
// Promise    Nothing is written.
// Errors     kConflict: a process has the device open.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "blob/device/device.h"
#include "blob/vdisk/vdisk.h"
#include "io/world.h"

namespace moraine::app {

struct ReadOnlyDevice {
  std::unique_ptr<blob::Device> device;
  std::map<blob::OwnerSlot, std::shared_ptr<blob::VDisk>> vdisks;

  Task<void> close();
};

Task<Result<ReadOnlyDevice>> open_read_only(World world, std::string path);

}  // namespace moraine::app
