// Text output: aligned tables, sizes in units, and a progress bar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace moraine::app {

// Columns are as wide as their widest cell; numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  // Requires: as many cells as heads.
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "1.5 MiB": with three digits.
std::string readable_size(std::uint64_t bytes);

// "1 blob", "2 blobs".
std::string counted(std::uint64_t count, std::string_view noun);

// The progress of a long job: a bar on a terminal, nothing otherwise.
class Progress {
 public:
  // `quiet` shows nothing.
  Progress(std::string what, std::uint64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t amount);

 private:
  void show();

  const std::string what_;
  const std::uint64_t total_;
  const bool shows_;
  std::uint64_t done_ = 0;
  std::uint64_t shown_ = ~std::uint64_t{0};  // In steps of the display.
};

}  // namespace moraine::app
