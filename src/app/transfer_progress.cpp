#include "app/transfer_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "app/table.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;

// Short transfers show nothing.
constexpr std::chrono::milliseconds kFirst{500};
constexpr std::chrono::milliseconds kStep{100};

}  // namespace

std::string progress_text(const std::string& what, std::uint64_t messages, std::uint64_t bytes,
                          std::optional<std::uint64_t> total) {
  if (!total || *total == 0) {
    return fmt::format("{} {}, {}", what, counted(messages, "message"), readable_size(bytes));
  }
  const double share =
      std::min(1.0, static_cast<double>(messages) / static_cast<double>(*total)) * 100;
  return fmt::format("{} {} of {}, {}, {:.0f} %", what, messages, counted(*total, "message"),
                     readable_size(bytes), share);
}

TransferProgress::TransferProgress(std::string what, std::optional<std::uint64_t> total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      shows_(!quiet && isatty(STDERR_FILENO) == 1),
      begun_(Clock::now()),
      next_(begun_ + kFirst) {}

TransferProgress::~TransferProgress() {
  if (shows_ && next_ != begun_ + kFirst) fmt::print(stderr, "\r\033[K");
}

void TransferProgress::at(std::uint64_t messages, std::uint64_t bytes) {
  if (!shows_ || Clock::now() < next_) return;
  next_ = Clock::now() + kStep;
  fmt::print(stderr, "\r{}\033[K", progress_text(what_, messages, bytes, total_));
  std::fflush(stderr);
}

}  // namespace moraine::app
