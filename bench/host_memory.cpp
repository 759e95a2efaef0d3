#include "bench/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace moraine::bench {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
// What the programs of one benchmark and the page cache of their files use together.
constexpr std::uint64_t kTouchedBytesMax = 16 * kGiB;
constexpr std::uint64_t kLeftBytes = 4 * kGiB;
constexpr std::uint64_t kPageBytes = 4'096;

std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  std::uint64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return kilobytes << 10;
  }
  return 0;
}

}  // namespace

std::uint64_t touch_free_memory() {
  const std::uint64_t available = available_bytes();
  if (available <= kLeftBytes) return 0;
  const std::uint64_t bytes = std::min(available - kLeftBytes, kTouchedBytesMax);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto* const first = static_cast<volatile char*>(memory);
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) first[at] = 1;
  ::munmap(memory, bytes);
  return bytes;
}

}  // namespace moraine::bench
