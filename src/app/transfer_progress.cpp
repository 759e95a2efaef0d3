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
constexpr std::chrono::milliseconds kStep{200};

double percent(std::uint64_t done, std::uint64_t total) {
  return static_cast<double>(std::min(done, total)) / static_cast<double>(total) * 100;
}

}  // namespace

std::string transfer_text(const std::string& what, std::uint64_t bytes,
                          std::optional<std::uint64_t> total, double seconds) {
  std::string text = fmt::format("{}: {}", what, readable_size(bytes));
  if (total && *total > 0) {
    text += fmt::format(" of {}, {:.0f} %", readable_size(*total), percent(bytes, *total));
  }
  if (seconds > 0) {
    const double rate = static_cast<double>(bytes) / seconds;
    text += fmt::format(", {}/s", readable_size(static_cast<std::uint64_t>(rate)));
  }
  return text;
}

std::string message_text(const std::string& what, std::uint64_t messages, std::uint64_t bytes,
                         std::optional<std::uint64_t> total) {
  if (!total || *total == 0) {
    return fmt::format("{} {}, {}", what, counted(messages, "message"), readable_size(bytes));
  }
  return fmt::format("{} {} of {}, {}, {:.0f} %", what, messages, counted(*total, "message"),
                     readable_size(bytes), percent(messages, *total));
}

TransferProgress::TransferProgress(std::string what, std::optional<std::uint64_t> total, bool shows)
    : what_(std::move(what)),
      total_(total),
      shows_(shows && isatty(STDERR_FILENO) == 1),
      begun_(Clock::now()),
      next_(begun_ + kFirst) {}

TransferProgress::~TransferProgress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

bool TransferProgress::is_due() {
  if (!shows_) return false;
  const Clock::time_point now = Clock::now();
  if (now < next_) return false;
  next_ = now + kStep;
  return true;
}

void TransferProgress::show(const std::string& text) {
  shown_ = true;
  fmt::print(stderr, "\r{}\033[K", text);
  std::fflush(stderr);
}

void TransferProgress::at(std::uint64_t bytes) {
  if (!is_due()) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  show(transfer_text(what_, bytes, total_, seconds));
}

void TransferProgress::at_message(std::uint64_t messages, std::uint64_t bytes) {
  if (is_due()) show(message_text(what_, messages, bytes, total_));
}

}  // namespace moraine::app
