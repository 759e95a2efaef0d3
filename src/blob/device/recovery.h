// Reading a device back after it was closed or crashed.
//
// Promise    Bytes returned here are durable (the disk is synced first), intact (checksums match)
//            and of this log (device, epoch, position and run match).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

// The superblock, by the first copy that is whole.
struct SuperblockPages {
  struct Damaged {
    std::uint64_t copy = 0;
    std::string why;
  };
  Superblock superblock;
  std::vector<Damaged> damaged;  // Never all copies.
};

struct RecoveredLog {
  Superblock superblock;
  Root root;
  Manifest manifest;
  std::vector<Slice> chunks;        // Parallel to manifest.chunks.
  std::vector<FoundBatch> batches;  // Everything found; `plan` selects the log.
  LogPlan plan;
  std::uint64_t epoch_max = 0;     // Greatest anywhere on the device.
  std::uint64_t sequence_max = 0;  // Greatest anywhere in the log, discarded batches included.
  std::uint32_t run_max = 0;
  std::uint64_t bytes_read = 0;
  bool unreadable = false;  // The disk failed to read a place that may hold batches.
  // Why the disk failed to read that place or a chunk. Corrupted ones are no failures to read.
  std::optional<Error> read_failure;
  std::vector<SuperblockPages::Damaged> damaged_superblocks;
  // Descriptions of what else was damaged; empty when nothing was.
  std::vector<std::string> damage;
};

Task<Result<Superblock>> read_superblock(Disk& disk);
Task<Result<SuperblockPages>> read_superblock_pages(Disk& disk);
Task<Result<RecoveredLog>> recover_log(Disk& disk);

// Reads and checks the data of a record. kCorrupt when a checksum does not match.
Task<Result<Slice>> read_data(Disk& disk, const Superblock& superblock, Location location,
                              std::uint32_t shift, std::uint32_t size);

}  // namespace moraine::blob
