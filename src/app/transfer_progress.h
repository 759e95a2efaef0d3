// TransferProgress: the number of transferred messages, as a changing line on a terminal; nothing
// if standard error is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace moraine::app {

class TransferProgress {
 public:
  // `total`: messages, when known. `quiet` shows nothing.
  TransferProgress(std::string what, std::optional<std::uint64_t> total, bool quiet);
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;
  ~TransferProgress();  // Clears the line.

  // Sets the current progress.
  void at(std::uint64_t messages, std::uint64_t bytes);

 private:
  const std::string what_;
  const std::optional<std::uint64_t> total_;
  const bool shows_;
  const std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point next_;
};

// "read 500 of 2000 messages, 1.5 MiB, 25 %"
std::string progress_text(const std::string& what, std::uint64_t messages, std::uint64_t bytes,
                          std::optional<std::uint64_t> total);

}  // namespace moraine::app
