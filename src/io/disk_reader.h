// DiskReader: blocking reads of an open disk.
//
// Promise    Returns the bytes that the disk holds at some moment of the call, or an error; never
//            waits for the disk's executor.
// Invariants Offsets and sizes are multiples of kSectorSize (io/disk.h).
// Threading  Any thread, any number of reads at once (a simulated reader: the simulation's thread).
//            It may outlive its Disk: it then reads whatever the file holds by that time.
// Errors     As io/disk.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine {

class DiskReader {
 public:
  virtual ~DiskReader() = default;
  virtual Result<Slice> read(std::uint64_t offset, std::size_t size) const = 0;
};

}  // namespace moraine
