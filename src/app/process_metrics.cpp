#include "app/process_metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "app/version.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::system_clock;

// Initialised before main().
const Clock::time_point kStarted = Clock::now();

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// "VmRSS:   1234 kB" of /proc/self/status, in its own unit.
std::optional<std::uint64_t> status_figure(std::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::uint64_t value = 0;
    if (words >> value) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++count;
  }
  if (error || count == 0) return std::nullopt;
  return count - 1;  // Without the one that lists them.
}

void add(std::string& out, std::string_view name, std::string_view kind, std::string_view help,
         std::string_view value) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, kind,
                 help, value);
}

void add(std::string& out, std::string_view name, std::string_view help,
         std::optional<std::uint64_t> value, std::uint64_t unit = 1) {
  if (value) add(out, name, "gauge", help, std::to_string(*value * unit));
}

}  // namespace

double uptime_seconds() {
  return seconds(Clock::now() - kStarted);
}

std::string process_metrics() {
  std::string out;
  fmt::format_to(
      std::back_inserter(out),
      "# HELP moraine_build_info The version that runs\n# TYPE moraine_build_info gauge\n"
      "moraine_build_info{{version=\"{}\",compiler=\"clang {}.{}.{}\"}} 1\n",
      kVersion, __clang_major__, __clang_minor__, __clang_patchlevel__);
  add(out, "moraine_uptime_seconds", "gauge", "Seconds since the process was started",
      fmt::format("{:.3f}", uptime_seconds()));
  add(out, "process_start_time_seconds", "gauge", "When it was started, in seconds since 1970",
      fmt::format("{:.3f}", seconds(kStarted.time_since_epoch())));
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    add(out, "process_cpu_seconds_total", "counter", "CPU time in user and system mode",
        fmt::format("{:.3f}", seconds(used.ru_utime) + seconds(used.ru_stime)));
  }
  add(out, "process_resident_memory_bytes", "Memory that is in use", status_figure("VmRSS:"), 1024);
  add(out, "process_virtual_memory_bytes", "Memory that is mapped", status_figure("VmSize:"), 1024);
  add(out, "process_threads", "Threads", status_figure("Threads:"));
  add(out, "process_open_fds", "Open files and sockets", open_files());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    add(out, "process_max_fds", "Maximum number of open files and sockets",
        std::uint64_t{limit.rlim_cur});
  }
  return out;
}

}  // namespace moraine::app
