// Disk: one open file or block device, read and written in whole sectors.
//
// Promise    A write with Durability::kDurable, or one followed by a sync() that succeeded,
//            survives power loss. Any other write may be lost, torn at sector bounds, or reordered
//            by a crash.
// Invariants Offsets, sizes and memory addresses are multiples of kSectorSize (Buffers of
//            kAlignment bytes or more are aligned; see base/bytes.h).
// Threading  Calls come from one executor and complete on it. Any number may be in flight up to the
//            implementation's queue depth; past it, calls are queued in order.
// Errors     kNoSpace: nothing of the write is promised. kReadOnly. kIo: after a failed write or
//            sync the state of un-synced bytes is unknown; the owner stops and recovery decides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/disk_reader.h"
#include "io/task.h"

namespace moraine {

inline constexpr std::uint64_t kSectorSize = 4096;

enum class Durability : std::uint8_t {
  kCached,   // A later sync() makes it durable.
  kDurable,  // Durable when the call completes.
};

class Disk {
 public:
  virtual ~Disk() = default;
  // Writes the pieces one after another, starting at `offset`.
  virtual Task<Result<void>> write(std::uint64_t offset, std::vector<Slice> pieces,
                                   Durability durability) = 0;
  virtual Task<Result<Slice>> read(std::uint64_t offset, std::size_t size) = 0;
  virtual Task<Result<void>> sync() = 0;
  // Reserves blocks for the range (a file system may otherwise fail a later write with kNoSpace).
  virtual Task<Result<void>> allocate(std::uint64_t offset, std::uint64_t size) = 0;
  // Releases the blocks of the range. Its contents are undefined from the call on, also after a
  // power cut, until it is written again. kUnsupported: the medium keeps its blocks, and nothing
  // has changed.
  virtual Task<Result<void>> discard(std::uint64_t offset, std::uint64_t size) = 0;
  virtual std::uint64_t size() const = 0;
  // For blocking reads on other threads, through a separate file descriptor. Null: not supported.
  virtual std::shared_ptr<const DiskReader> reader() { return nullptr; }
};

struct DiskOptions {
  bool create = false;            // Fails with kAlreadyExists when the file exists.
  std::uint64_t create_size = 0;  // Nominal size of a created file; allocate() reserves its blocks.
  bool read_only = false;
};

// Opens disks by path. A disk is locked against a second opener (kConflict) while it is open.
class DiskStore {
 public:
  virtual ~DiskStore() = default;
  virtual Task<Result<std::unique_ptr<Disk>>> open(std::string path, DiskOptions options) = 0;
};

}  // namespace moraine
