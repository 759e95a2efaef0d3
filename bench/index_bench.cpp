// Memory cost of a million blobs, and the cost of opening a device with them.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/blob_bench.h"
#include "bench/heap_growth.h"
#include "bench/store.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kTiny = 100;
constexpr std::uint32_t kFillDepth = 512;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr double kBytesPerBlobMax = 120;

StoreOptions options_for(const std::string& folder, std::uint64_t count) {
  StoreOptions options;
  options.folder = folder;
  options.device_bytes = align_up(count * kTiny * 4, kMiB) + std::uint64_t{1024} * kMiB;
  return options;
}

// A child that runs fill_and_wait(), and its output.
class Filler {
 public:
  static Result<Filler> start(const std::string& folder, std::uint64_t count) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::kIo, std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string self = "/proc/self/exe";
    std::string flag = "--fill";
    std::string where = folder;
    std::string how_many = std::to_string(count);
    const std::array<char*, 5> arguments{self.data(), flag.data(), where.data(), how_many.data(),
                                         nullptr};
    Filler filler;
    const int failed =
        posix_spawn(&filler.pid_, self.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    filler.from_ = ends[0];
    if (failed != 0) return fail(Errc::kIo, std::strerror(failed));
    return filler;
  }
  Filler(Filler&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), from_(std::exchange(other.from_, -1)) {}
  Filler& operator=(Filler&&) = delete;
  ~Filler() { kill(); }

  // The line that it prints when all blobs are durable; empty when it failed.
  std::string wait_for_line() const {
    std::string line;
    char c = 0;
    while (read(from_, &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  void kill() {
    if (from_ >= 0) close(std::exchange(from_, -1));
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  Filler() = default;

  pid_t pid_ = 0;
  int from_ = -1;
};

struct Opened {
  double seconds = 0;
  double bytes_read = 0;
  double heap = 0;  // Growth.
};

// Opens the device and closes it cleanly.
Result<Opened> reopen(const StoreOptions& options, std::uint64_t count) {
  Opened opened;
  const HeapGrowth growth;
  const Stopwatch watch;
  TRY(const auto store, Store::open(options));
  opened.seconds = watch.seconds();
  opened.heap = growth.bytes();
  opened.bytes_read = static_cast<double>(store->device(0).stats().recovery_bytes_read);
  if (store->blobs() != count) {
    return fail(Errc::kCorrupt, fmt::format("{} of {} blobs were found", store->blobs(), count));
  }
  return opened;
}

void add_reopen(Report& report, const std::string& after, const Opened& opened) {
  report.add({"blob", "reopen_after_" + after, opened.seconds, "s"});
  report.add({"blob", "reopen_read_" + after, opened.bytes_read / 1e6, "MB"});
}

}  // namespace

Result<void> fill_and_wait(const std::string& folder, std::uint64_t count) {
  TRY(const auto store, Store::open(options_for(folder, count)));
  const HeapGrowth growth;
  for (std::uint64_t left = count; left > 0;) {
    const std::uint64_t some = std::min<std::uint64_t>(left, 100'000);
    TRY(const Round round, store->put({kTiny, kFillDepth, some}));
    (void)round;
    left -= some;
  }
  fmt::print("{}\n", growth.bytes());
  std::fflush(stdout);
  pause();
  return {};
}

Result<void> bench_index(const Setting& setting) {
  const std::uint64_t count = setting.quick ? 250'000 : 1'000'000;
  const StoreOptions options = options_for(setting.folder.path(), count);
  double grown = 0;
  {
    TRY(Filler filler, Filler::start(setting.folder.path(), count));
    const std::string output = filler.wait_for_line();
    if (output.empty()) return fail(Errc::kIo, "the process that fills the device failed");
    grown = std::strtod(output.c_str(), nullptr);
  }
  TRY(const Opened after_kill, reopen(options, count));
  TRY(const Opened after_stop, reopen(options, count));
  const auto blobs = static_cast<double>(count);
  Line line{"blob", "index_memory_per_blob",
            std::max({grown, after_kill.heap, after_stop.heap}) / blobs, "bytes"};
  line.goal = Goal{Goal::Of::kValueAtMost, kBytesPerBlobMax};
  setting.report.add(std::move(line));
  setting.report.note(
      fmt::format("{} blobs; heap bytes a blob: {:.1f} after putting, {:.1f} after "
                  "a kill, {:.1f} after a clean stop",
                  count, grown / blobs, after_kill.heap / blobs, after_stop.heap / blobs));
  add_reopen(setting.report, "kill", after_kill);
  add_reopen(setting.report, "stop", after_stop);
  discard(Store::device_path(options, 0));
  return {};
}

}  // namespace moraine::bench
