// check_device: reads everything that is live on one device and verifies it.
//
// Promise    Writes nothing. Every checksum of every live record is computed: fixed pages,
//            checkpoint, log, all data and its tables. Every index entry is compared with the
//            device and the group.
// Threading  The world's executor.
// Limits     kDamageListedMax items of each kind of damage are listed, all are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "blob/blob_id.h"
#include "blob/device/location.h"
#include "io/task.h"
#include "io/world.h"

namespace moraine::app {

inline constexpr std::size_t kDamageListedMax = 10'000;

struct DamagedPart {
  blob::BlobId id;  // With its part.
  std::string why;
};

struct VDiskReport {
  std::uint32_t slot = 0;
  std::string vdisk;          // "" while it belongs to no group.
  std::uint64_t blobs = 0;    // Index entries.
  std::uint64_t parts = 0;    // Parts of them that are stored here.
  std::uint64_t bytes = 0;    // Of those parts.
  std::uint64_t missing = 0;  // Blobs of which a part is still to be replicated.
  std::uint64_t blocks = 0;
  std::uint64_t barriers = 0;
  std::uint64_t damaged = 0;
  std::vector<DamagedPart> damaged_parts;
  std::uint64_t inconsistent = 0;
  std::vector<std::string> inconsistencies;
};

struct DeviceReport {
  std::string path;
  std::optional<Error> unusable;    // It could not be opened at all.
  std::vector<std::string> damage;  // Fixed pages, checkpoint, log.
  std::uint64_t live_bytes = 0;
  std::vector<VDiskReport> vdisks;

  bool sound() const;
};

// Called with the bytes to verify once, then with the number of verified bytes.
struct CheckWatcher {
  std::function<void(const std::string& path, std::uint64_t total)> begin;
  std::function<void(std::uint64_t bytes)> verified;
};

Task<DeviceReport> check_device(World world, std::string path, const CheckWatcher& watcher);

}  // namespace moraine::app
