// Bytes that are sent or received, shown while a long transfer runs.
//
// Promise    On a terminal a changing line on standard error, cleared at the end; nothing
//            otherwise.
// Tests      app/cli_yt_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace moraine::app {

class ByteProgress {
 public:
  // `total`: bytes, when known. `shows`: whether a line may be shown.
  ByteProgress(std::string what, std::optional<std::uint64_t> total, bool shows);
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;
  ~ByteProgress();
  void at(std::uint64_t bytes);

 private:
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

// Of a regular file what is left of it; nothing of a pipe.
std::optional<std::uint64_t> bytes_left(int fd);

}  // namespace moraine::app
