#include "app/yt_verbs/transfer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "app/table.h"

namespace moraine::app {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFirst = std::chrono::milliseconds(500);  // Short transfers show nothing.
constexpr auto kStep = std::chrono::milliseconds(200);

}  // namespace

std::string transfer_text(const std::string& what, std::uint64_t bytes,
                          std::optional<std::uint64_t> total, double seconds) {
  std::string text = fmt::format("{}: {}", what, readable_size(bytes));
  if (total && *total > 0) {
    const double share = static_cast<double>(std::min(bytes, *total)) / static_cast<double>(*total);
    fmt::format_to(std::back_inserter(text), " of {}, {:.0f} %", readable_size(*total),
                   share * 100);
  }
  if (seconds > 0) {
    const double rate = static_cast<double>(bytes) / seconds;
    text += fmt::format(", {}/s", readable_size(static_cast<std::uint64_t>(rate)));
  }
  return text;
}

ByteProgress::ByteProgress(std::string what, std::optional<std::uint64_t> total, bool shows)
    : what_(std::move(what)),
      total_(total),
      shows_(shows && isatty(STDERR_FILENO) == 1),
      begun_(Clock::now()),
      next_(begun_ + kFirst) {}

ByteProgress::~ByteProgress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void ByteProgress::at(std::uint64_t bytes) {
  if (!shows_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kStep;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  fmt::print(stderr, "\r{}\033[K", transfer_text(what_, bytes, total_, seconds));
  std::fflush(stderr);
}

std::optional<std::uint64_t> bytes_left(int fd) {
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || at > status.st_size) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size - at);
}

}  // namespace moraine::app
