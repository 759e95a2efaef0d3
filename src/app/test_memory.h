// How much memory a started program has taken. For tests.
#pragma once

#include <sys/types.h>

#include <sstream>
#include <string>

#include "app/cli_test_util.h"

namespace moraine::app {

inline constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// False: sanitizers add to it.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
inline constexpr bool kMemoryIsOurs = false;
#else
inline constexpr bool kMemoryIsOurs = true;
#endif

// The most that the process had so far.
inline std::size_t most_memory(pid_t process) {
  std::istringstream status(read_file("/proc/" + std::to_string(process) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace moraine::app
