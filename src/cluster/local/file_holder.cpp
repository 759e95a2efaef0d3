#include "cluster/local/file_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>

namespace moraine {
namespace {

namespace fs = std::filesystem;

bool has_open(const fs::path& process, const struct stat& wanted) {
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    struct stat open{};
    if (::stat(at->path().c_str(), &open) != 0) continue;
    if (open.st_dev == wanted.st_dev && open.st_ino == wanted.st_ino) return true;
  }
  return false;
}

std::string program_of(const fs::path& process) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::optional<FileHolder> holder_of(const std::string& path) {
  struct stat wanted{};
  if (::stat(path.c_str(), &wanted) != 0) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const char* const last = name.data() + name.size();
    const auto [rest, wrong] = std::from_chars(name.data(), last, pid);
    if (wrong != std::errc{} || rest != last || pid == getpid()) continue;
    if (has_open(at->path(), wanted)) return FileHolder{pid, program_of(at->path())};
  }
  return std::nullopt;
}

std::string holder_text(const std::string& path) {
  const std::optional<FileHolder> holder = holder_of(path);
  if (!holder) return "another process";
  return fmt::format("process {} ({})", holder->pid, holder->name);
}

}  // namespace moraine
