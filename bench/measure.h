// The measurements of one round of a benchmark, and how rounds are combined.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace moraine::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  std::uint64_t nanoseconds() const {
    const auto passed = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// CPU time of this process so far, in seconds.
double cpu_seconds();

struct Round {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;                // 0: not measured.
  std::vector<std::uint64_t> latencies;  // In nanoseconds, one per operation; may be empty.

  double operations_per_second() const { return static_cast<double>(operations) / seconds; }
  double megabytes_per_second() const { return static_cast<double>(bytes) / seconds / 1e6; }
};

// Requires: not empty.
double median(std::vector<double> values);

// The rounds of one side.
class Rounds {
 public:
  void add(Round round);
  bool empty() const { return operations_.empty(); }
  // Medians over the rounds.
  double operations_per_second() const { return median(operations_); }
  double megabytes_per_second() const { return median(megabytes_); }
  double cpu_microseconds() const { return median(cpu_); }  // Per operation.
  // Over the operations of all rounds, in microseconds; 0 when none were timed.
  double latency(double quantile) const;

 private:
  std::vector<double> operations_;
  std::vector<double> megabytes_;
  std::vector<double> cpu_;
  std::vector<std::uint64_t> latencies_;
};

}  // namespace moraine::bench
