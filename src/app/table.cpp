#include "app/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/invariant.h"

namespace moraine::app {
namespace {

constexpr std::size_t kBarCells = 30;
constexpr std::uint64_t kTerminalSteps = 200;  // Updates of a bar.

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  INVARIANT(cells.size() == rows_.front().size(), "{} cells under {} heads", cells.size(),
            rows_.front().size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += is_number(row[i]) ? fmt::format("{:>{}}", row[i], widths[i])
                                : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string readable_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  const int digits = unit == 0 || amount >= 100 ? 0 : amount >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", amount, digits, kUnits[unit]);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Progress::Progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)), total_(total), shows_(!quiet && isatty(STDERR_FILENO) == 1) {
  show();
}

Progress::~Progress() {
  if (shows_) fmt::print(stderr, "\r\033[K");
}

void Progress::add(std::uint64_t amount) {
  done_ = std::min(total_, done_ + amount);
  show();
}

void Progress::show() {
  if (!shows_) return;
  const double share = total_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(total_);
  const auto step = static_cast<std::uint64_t>(share * static_cast<double>(kTerminalSteps));
  if (step == shown_) return;
  shown_ = step;
  const std::string amounts = fmt::format("{} of {}", readable_size(done_), readable_size(total_));
  const auto filled = static_cast<std::size_t>(share * kBarCells);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %  {}\033[K", what_, std::string(filled, '#'),
             std::string(kBarCells - filled, '.'), share * 100, amounts);
  std::fflush(stderr);
}

}  // namespace moraine::app
