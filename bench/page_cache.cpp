#include "bench/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kQuietKilobytes = 32'768;
constexpr auto kQuietPause = 200ms;
constexpr int kDiscardsField = 15;  // Of a line of /proc/diskstats; the third is the disk's name.
constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
// Written back together; more would leave the disk idle until the kernel's own limit is reached.
constexpr std::uint64_t kWriteBackBytes = std::uint64_t{32} << 20;

// Of pages that are not on disk yet.
double dirty_kilobytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  double value = 0;
  double total = 0;
  while (file >> name >> value) {
    std::getline(file, unit);
    if (name == "Dirty:" || name == "Writeback:") total += value;
  }
  return total;
}

// Completed by all disks since the start of the system.
std::uint64_t discards() {
  std::ifstream file("/proc/diskstats");
  std::uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string value;
    for (int i = 0; i < kDiscardsField; ++i) fields >> value;
    if (fields) total += std::strtoull(value.c_str(), nullptr, 10);
  }
  return total;
}

}  // namespace

bool wait_for_quiet_disk() {
  for (const Stopwatch watch; watch.seconds() < kQuietSecondsMax;) {
    sync();
    const std::uint64_t before = discards();
    std::this_thread::sleep_for(kQuietPause);
    if (discards() == before && dirty_kilobytes() < kQuietKilobytes) return true;
  }
  return false;
}

Result<std::unique_ptr<PageCacheWriter>> PageCacheWriter::start(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return fail(Errc::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  return std::unique_ptr<PageCacheWriter>(new PageCacheWriter(file, path));
}

PageCacheWriter::PageCacheWriter(int file, std::string path)
    : file_(file), path_(std::move(path)), thread_([this] { write(); }) {}

PageCacheWriter::~PageCacheWriter() {
  stop_ = true;
  thread_.join();
  close(file_);
  ::unlink(path_.c_str());
}

void PageCacheWriter::write() const {
  const std::vector<char> block(kBlockBytes, 'x');
  for (std::uint64_t at = 0; !stop_; at = (at + kBlockBytes) % kFileBytes) {
    // A full disk ends the load, and the benchmark fails elsewhere.
    if (::pwrite(file_, block.data(), block.size(), static_cast<off_t>(at)) <= 0) return;
    const std::uint64_t end = at + kBlockBytes;
    if (end % kWriteBackBytes != 0) continue;
    sync_file_range(file_, static_cast<off_t>(end - kWriteBackBytes),
                    static_cast<off_t>(kWriteBackBytes), SYNC_FILE_RANGE_WRITE);
  }
}

}  // namespace moraine::bench
