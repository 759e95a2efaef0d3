#include "io/real/disk_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/bytes.h"

namespace moraine {
namespace {

constexpr mode_t kFileMode = 0640;

Errc code_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return Errc::kNoSpace;
    case EROFS:
    case EACCES:
    case EPERM: return Errc::kReadOnly;
    case ENOENT:
    case ENOTDIR: return Errc::kNotFound;
    case EEXIST: return Errc::kAlreadyExists;
    case EBUSY: return Errc::kConflict;
    default: return Errc::kIo;
  }
}

// strerror(), with an explanation where it is too short to act on.
std::string reason_of(int error_number) {
  const std::string text = std::strerror(error_number);
  switch (code_of(error_number)) {
    case Errc::kReadOnly: return text + " (this process may not write there)";
    case Errc::kConflict: return text + " (the device is mounted or in use)";
    default: return text;
  }
}

Result<void> sync_parent(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(disk_error(errno, "open folder", folder));
  const int status = fsync(fd);
  const int error_number = errno;
  close(fd);
  if (status != 0) return std::unexpected(disk_error(error_number, "fsync folder", folder));
  return {};
}

int open_flags(const std::string& path, const DiskOptions& options) {
  int flags = O_CLOEXEC | (options.read_only ? O_RDONLY : O_RDWR);
  if (options.create) return flags | O_CREAT | O_EXCL;
  struct stat info{};
  // On a block device O_EXCL refuses one that is mounted.
  if (::stat(path.c_str(), &info) == 0 && S_ISBLK(info.st_mode)) flags |= O_EXCL;
  return flags;
}

Result<void> check_options(const std::string& path, const DiskOptions& options) {
  if (!options.create) return {};
  if (options.read_only) {
    return fail(Errc::kInvalidArgument, path + ": create and read_only cannot be combined");
  }
  if (options.create_size == 0 || options.create_size % kSectorSize != 0) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: size {} is not a positive multiple of {}",
                                                    path, options.create_size, kSectorSize));
  }
  return {};
}

}  // namespace

Error disk_error(int error_number, std::string_view operation, std::string_view path) {
  return {code_of(error_number),
          fmt::format("{} {}: {}", operation, path, reason_of(error_number))};
}

Error disk_error(int error_number, std::string_view operation, std::string_view path,
                 std::uint64_t offset, std::uint64_t size) {
  return {code_of(error_number), fmt::format("{} {} at {}, {} bytes: {}", operation, path, offset,
                                             size, reason_of(error_number))};
}

DiskFile::DiskFile(DiskFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      is_block_device_(other.is_block_device_),
      read_only_(other.read_only_),
      direct_(other.direct_) {}

DiskFile::~DiskFile() {
  if (fd_ >= 0) close(fd_);
}

Result<DiskFile> DiskFile::open(const std::string& path, const DiskOptions& options) {
  TRY_VOID(check_options(path, options));
  const int fd = ::open(path.c_str(), open_flags(path, options), kFileMode);
  if (fd < 0) return std::unexpected(disk_error(errno, options.create ? "create" : "open", path));
  DiskFile file(fd, path);
  file.read_only_ = options.read_only;
  TRY_VOID(file.lock());
  if (options.create) {
    if (auto shaped = file.shape(options.create_size); !shaped) {
      unlink(path.c_str());
      return std::unexpected(std::move(shaped).error());
    }
  }
  TRY_VOID(file.measure());
  file.bypass_cache();
  return file;
}

// Opened through the descriptor: the path may name another file by now.
Result<DiskFile> DiskFile::reopen() const {
  const std::string self = fmt::format("/proc/self/fd/{}", fd_);
  const int fd = ::open(self.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(disk_error(errno, "open again", path_));
  DiskFile file(fd, path_);
  file.read_only_ = true;
  TRY_VOID(file.measure());
  file.bypass_cache();
  return file;
}

Result<void> DiskFile::lock() const {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) {
    return fail(Errc::kConflict,
                fmt::format("open {}: it is already open in this or another process", path_));
  }
  return std::unexpected(disk_error(errno, "flock", path_));
}

Result<void> DiskFile::shape(std::uint64_t size) const {
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    return std::unexpected(disk_error(errno, "ftruncate", path_, 0, size));
  }
  if (fsync(fd_) != 0) return std::unexpected(disk_error(errno, "fsync", path_));
  return sync_parent(path_);
}

Result<void> DiskFile::measure() {
  struct stat info{};
  if (fstat(fd_, &info) != 0) return std::unexpected(disk_error(errno, "fstat", path_));
  std::uint64_t bytes = static_cast<std::uint64_t>(info.st_size);
  if (S_ISBLK(info.st_mode)) {
    is_block_device_ = true;
    if (ioctl(fd_, BLKGETSIZE64, &bytes) != 0) {
      return std::unexpected(disk_error(errno, "BLKGETSIZE64", path_));
    }
  } else if (!S_ISREG(info.st_mode)) {
    return fail(Errc::kInvalidArgument, path_ + " is neither a file nor a block device");
  }
  size_ = align_down(bytes, kSectorSize);
  return {};
}

// Set after opening: a create with O_DIRECT on a file system without it leaves the file behind.
void DiskFile::bypass_cache() {
  const int flags = fcntl(fd_, F_GETFL);
  direct_ = flags >= 0 && fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0;
}

}  // namespace moraine
