#include "io/real/machine.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace moraine {
namespace {

namespace fs = std::filesystem;

// nullopt: no such file, "max", or no number above zero.
std::optional<std::size_t> read_limit(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  if (error != std::errc() || end != word.data() + word.size() || bytes == 0) return std::nullopt;
  return bytes;
}

// The least limit of a group and of all above it. In a container `group` may be a path that only
// the host has, and then the container's own group is at `mount`.
std::optional<std::size_t> least_limit(const fs::path& mount, std::string_view group,
                                       const char* file) {
  fs::path at = fs::path(group).lexically_normal().relative_path();
  std::optional<std::size_t> least = read_limit(mount / file);
  for (; !at.empty(); at = at.parent_path()) {
    const std::optional<std::size_t> limit = read_limit(mount / at / file);
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(','), words.size());
    if (words.substr(0, comma) == word) return true;
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return false;
}

}  // namespace

// Lines are "0::/group" for version 2 and "number:controllers:/group" for version 1.
std::optional<std::size_t> cgroup_memory_bytes(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<std::size_t> least;
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const auto group = std::string_view(line).substr(second + 1);
    std::optional<std::size_t> limit;
    if (controllers.empty()) limit = least_limit(mount, group, "memory.max");
    if (has_word(controllers, "memory")) {
      limit = least_limit(mount / "memory", group, "memory.limit_in_bytes");
    }
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

std::size_t machine_memory_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const auto page = static_cast<std::size_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
  const std::size_t physical = pages * page;
  const std::size_t limit = cgroup_memory_bytes("/").value_or(physical);
  return physical == 0 ? limit : std::min(physical, limit);
}

}  // namespace moraine
