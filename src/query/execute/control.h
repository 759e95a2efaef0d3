// QueryControl: limits of one running query, shared by its parts.
//
// Promise    A query that is cancelled, late or over a limit fails at its next check, on every
//            lane. With `fail_when_incomplete` false, a query over its input limit ends early
//            instead.
// Threading  Any thread.
// Limits     As given; kQueriesBytesMax of all queries of the process.
// Errors     kAborted: cancelled; kTimeout; kOverloaded: the text names the limit.
// Tests      node/select_test.cpp.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "io/executor.h"

namespace moraine::query {

inline constexpr std::size_t kQueriesBytesMax = std::size_t{4} << 30;

struct QueryLimits {
  std::uint64_t input_rows_max = ~std::uint64_t{0};
  std::size_t memory_bytes_max = ~std::size_t{0};
  bool fail_when_incomplete = true;
  Instant deadline = Instant::never();
};

class QueryControl {
 public:
  explicit QueryControl(const QueryLimits& limits) : limits_(limits) {}

  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Ends the other parts after one has failed.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  static bool is_stop(const Error& error) {
    return error.code == Errc::kAborted && error.context == kStopped;
  }
  Result<void> check(const Executor& executor) const {
    if (cancelled_.load(std::memory_order_relaxed)) {
      return fail(Errc::kAborted, "the query was cancelled");
    }
    if (stopped_.load(std::memory_order_relaxed)) {
      return fail(Errc::kAborted, std::string(kStopped));
    }
    if (executor.now() >= limits_.deadline) {
      return fail(Errc::kTimeout, "the time limit of the query has passed");
    }
    return {};
  }

  // Counts rows that were read. Returns how many of them may be used.
  Result<std::uint64_t> take_input(std::uint64_t rows, std::uint64_t bytes) {
    bytes_read_.fetch_add(bytes, std::memory_order_relaxed);
    const std::uint64_t before = rows_read_.fetch_add(rows, std::memory_order_relaxed);
    if (before + rows <= limits_.input_rows_max) return rows;
    if (limits_.fail_when_incomplete) {
      return fail(Errc::kOverloaded,
                  fmt::format("the query reads more than {} rows (input_row_limit)",
                              limits_.input_rows_max));
    }
    incomplete_input_.store(true, std::memory_order_relaxed);
    return before >= limits_.input_rows_max ? 0 : limits_.input_rows_max - before;
  }
  bool incomplete_input() const { return incomplete_input_.load(std::memory_order_relaxed); }

  // `step`: what needs it, for the error.
  Result<void> add_memory(std::size_t bytes, const char* step) {
    const std::size_t now = memory_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    const std::size_t all = all_memory_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limits_.memory_bytes_max) {
      return fail(Errc::kOverloaded,
                  fmt::format("{} needs more memory than the query's limit of {} bytes", step,
                              limits_.memory_bytes_max));
    }
    if (all > kQueriesBytesMax && bytes > 0) {
      return fail(Errc::kOverloaded,
                  fmt::format("{} needs memory, and the queries that run have more than {} bytes; "
                              "retry later",
                              step, kQueriesBytesMax));
    }
    return {};
  }
  void release_memory(std::size_t bytes) {
    memory_.fetch_sub(bytes, std::memory_order_relaxed);
    all_memory_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  std::uint64_t rows_read() const { return rows_read_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  std::size_t memory_peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::string_view kStopped = "another part of the query has failed";

  static inline std::atomic<std::size_t> all_memory_{0};  // Of all queries.

  const QueryLimits limits_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> incomplete_input_{false};
  std::atomic<std::uint64_t> rows_read_{0};
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::size_t> memory_{0};
  std::atomic<std::size_t> peak_{0};
};

// What one step holds.
class MemoryUse {
 public:
  MemoryUse(QueryControl& control, const char* step) : control_(control), step_(step) {}
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;
  ~MemoryUse() { control_.release_memory(bytes_); }
  Result<void> set(std::size_t bytes) {
    if (bytes > bytes_) {
      const std::size_t more = bytes - bytes_;
      bytes_ = bytes;
      return control_.add_memory(more, step_);
    }
    control_.release_memory(bytes_ - bytes);
    bytes_ = bytes;
    return {};
  }

 private:
  QueryControl& control_;
  const char* const step_;
  std::size_t bytes_ = 0;
};

}  // namespace moraine::query
