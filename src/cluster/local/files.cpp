#include "cluster/local/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "io/real/disk_file.h"

namespace moraine {
namespace {

constexpr mode_t kMode = 0640;
constexpr std::size_t kReadStep = std::size_t{64} << 10;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ > STDERR_FILENO) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<void> write_all(int fd, const std::string& path, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // The reader of the pipe has enough.
    if (count < 0 && errno == EPIPE && fd == STDOUT_FILENO) return {};
    if (count < 0) return std::unexpected(disk_error(errno, "write", path));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  const File handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.fd() < 0 || fsync(handle.fd()) != 0) {
    return std::unexpected(disk_error(errno, "sync folder", folder));
  }
  return {};
}

}  // namespace

Result<Slice> read_bytes(const std::string& path, std::size_t bytes_max) {
  const bool standard = path == "-";
  const File file(standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return std::unexpected(disk_error(errno, "open", path));
  std::vector<std::byte> bytes;
  for (;;) {
    const std::size_t at = bytes.size();
    bytes.resize(at + kReadStep);
    const ssize_t count = ::read(file.fd(), bytes.data() + at, kReadStep);
    bytes.resize(at + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(disk_error(errno, "read", path));
    if (count == 0) return Slice::copy_of(bytes);
    if (bytes.size() > bytes_max) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} has more than {} bytes", path, bytes_max));
    }
  }
}

Result<std::string> read_text(const std::string& path) {
  TRY(const Slice bytes, read_bytes(path, kTextFileBytesMax));
  return std::string(bytes.text());
}

Result<void> write_text(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  {
    const File file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
    if (file.fd() < 0) return std::unexpected(disk_error(errno, "create", fresh));
    TRY_VOID(write_all(file.fd(), fresh, as_bytes(text)));
    if (fsync(file.fd()) != 0) return std::unexpected(disk_error(errno, "sync", fresh));
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    return std::unexpected(disk_error(errno, "rename", fresh));
  }
  return sync_folder_of(path);
}

Result<void> check_output(const std::string& path) {
  if (path == "-") return {};
  const auto refuse = [&](std::string_view why) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot write {}: {}", path, why));
  };
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return refuse("it is a folder");
    if (access(path.c_str(), W_OK) != 0) return refuse(std::strerror(errno));
    return {};
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (access(parent.empty() ? "." : parent.c_str(), W_OK) != 0) {
    return refuse(std::strerror(errno));
  }
  return {};
}

Result<void> write_bytes(const std::string& path, ByteSpan bytes) {
  const bool standard = path == "-";
  const File file(standard ? STDOUT_FILENO
                           : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (file.fd() < 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return write_all(file.fd(), standard ? "standard output" : path, bytes);
}

}  // namespace moraine
