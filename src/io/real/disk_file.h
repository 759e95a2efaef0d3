// DiskFile: opens, creates, measures and locks the file or block device under a Disk.
//
// Promise    A created file and its directory entry are durable when create_disk_file returns.
//            While a DiskFile lives, the same file cannot be opened through this class again.
// Threading  Plain blocking calls.
// Errors     As io/disk.h; kConflict: the path is open elsewhere (or mounted).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/disk.h"

namespace moraine {

class DiskFile {
 public:
  static Result<DiskFile> open(const std::string& path, const DiskOptions& options);

  DiskFile(DiskFile&& other) noexcept;
  DiskFile& operator=(DiskFile&&) = delete;
  ~DiskFile();

  // Opens the same file again, for reading without the page cache, and without the lock.
  Result<DiskFile> reopen() const;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  // In whole sectors; an incomplete last sector is not counted.
  std::uint64_t size() const { return size_; }
  bool is_block_device() const { return is_block_device_; }
  bool read_only() const { return read_only_; }
  // False when the file system refuses O_DIRECT: the page cache is used, with the same durability.
  bool direct() const { return direct_; }

 private:
  DiskFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Result<void> lock() const;
  Result<void> measure();
  Result<void> shape(std::uint64_t size) const;
  void bypass_cache();

  int fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  bool is_block_device_ = false;
  bool read_only_ = false;
  bool direct_ = false;
};

// The Error for a failed system call: "pwrite /data/d1 at 4096: No space left on device".
Error disk_error(int error_number, std::string_view operation, std::string_view path);
Error disk_error(int error_number, std::string_view operation, std::string_view path,
                 std::uint64_t offset, std::uint64_t size);

}  // namespace moraine
