// Reading a device back after it was closed or crashed.
//
// Promise    Bytes that this finds are durable (the disk is synced first), whole (checksums hold)
//            and of this log (device, epoch, position and run agree).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/batch.h"
#include "blob/device/format.h"
#include "blob/device/log_order.h"
#include "io/disk.h"
#include "io/task.h"

namespace moraine::blob {

struct FoundBatch {
  BatchHeader header;
  Slice meta;
};

struct RecoveredLog {
  Superblock superblock;
  Root root;
  Manifest manifest;
  std::vector<Slice> chunks;        // Parallel to manifest.chunks.
  std::vector<FoundBatch> batches;  // Everything found; `plan` says what counts.
  LogPlan plan;
  std::uint64_t epoch_max = 0;     // Greatest anywhere on the device.
  std::uint64_t sequence_max = 0;  // Greatest anywhere in the log, discarded batches included.
  std::uint32_t run_max = 0;
  std::uint64_t bytes_read = 0;
  bool unreadable = false;  // The disk refused to read a place that may hold batches.
  // What was damaged, in words; empty when nothing was.
  std::vector<std::string> damage;
};

Task<Result<Superblock>> read_superblock(Disk& disk);
Task<Result<RecoveredLog>> recover_log(Disk& disk);

// Reads and checks the data of a record. kCorrupt when a checksum does not hold.
Task<Result<Slice>> read_data(Disk& disk, const Superblock& superblock, Location location,
                              std::uint32_t shift, std::uint32_t size);

}  // namespace moraine::blob
