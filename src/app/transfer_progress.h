// TransferProgress: how far a long transfer is, as a changing line on standard error, cleared at
// the end; nothing if that is no terminal, and nothing of short transfers.
//
// Tests      topic_print_test.cpp, yt_verbs/row_table_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace moraine::app {

class TransferProgress {
 public:
  // `total`: of what at() or at_message() counts, when known. `shows`: whether a line may be shown.
  TransferProgress(std::string what, std::optional<std::uint64_t> total, bool shows);
  TransferProgress(const TransferProgress&) = delete;
  TransferProgress& operator=(const TransferProgress&) = delete;
  ~TransferProgress();

  void at(std::uint64_t bytes);
  void at_message(std::uint64_t messages, std::uint64_t bytes);

 private:
  bool is_due();
  void show(const std::string& text);

  const std::string what_;
  const std::optional<std::uint64_t> total_;
  const bool shows_;
  const std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

// "inserting: 1.5 MiB of 3 MiB, 50 %, 700 KiB/s"
std::string transfer_text(const std::string& what, std::uint64_t bytes,
                          std::optional<std::uint64_t> total, double seconds);
// "read 500 of 2000 messages, 1.5 MiB, 25 %"
std::string message_text(const std::string& what, std::uint64_t messages, std::uint64_t bytes,
                         std::optional<std::uint64_t> total);

}  // namespace moraine::app
