#include "bench/work_folder.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace moraine::bench {

Result<WorkFolder> WorkFolder::create(const std::string& parent) {
  std::error_code made;
  std::filesystem::create_directories(parent, made);
  if (made) return fail(Errc::kIo, fmt::format("{}: {}", parent, made.message()));
  struct statfs info{};
  if (statfs(parent.c_str(), &info) != 0) {
    return fail(Errc::kIo, fmt::format("{}: {}", parent, std::strerror(errno)));
  }
  if (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC) {
    return fail(Errc::kInvalidArgument,
                parent + " is a memory file system; choose a disk with --dir");
  }
  std::string path = parent + "/bench.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail(Errc::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return WorkFolder(std::move(path));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void discard(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  sync();
}

}  // namespace moraine::bench
