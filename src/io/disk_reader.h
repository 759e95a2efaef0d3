// DiskReader: reads of an open disk by threads that wait for them.
//
// Promise    Gives the bytes that are there at some moment of the call, or an error; never waits
//            for the disk's executor.
// Invariants Offsets and sizes are multiples of kSectorSize (io/disk.h).
// Threading  Any thread, any number of reads at once (a simulated one: the simulation's). It may
//            outlive its Disk: what it reads then is whatever is in the file by then.
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
