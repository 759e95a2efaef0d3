// FileReader: a DiskReader with its own file descriptor, one pread at a time.
//
// Threading  Any thread; the calling thread blocks.
#pragma once

#include "io/disk_reader.h"
#include "io/real/disk_file.h"

namespace moraine {

class FileReader final : public DiskReader {
 public:
  explicit FileReader(DiskFile file) : file_(std::move(file)) {}
  Result<Slice> read(std::uint64_t offset, std::size_t size) const override;

 private:
  const DiskFile file_;
};

}  // namespace moraine
