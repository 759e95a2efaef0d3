// OpenCounts: how many transactions and scans of all doors of a node are open.
//
// Promise    Past a bound enter() fails with kOverloaded; a place is free again as soon as the
//            Place is destroyed. What is open is what holds memory here: a transaction until its
//            commit begins or it is aborted, a scan until its last row, its timeout or its end.
// Threading  Any thread; the counts outlive every Place.
// Limits     kOpenTransactionsMax, kOpenScansMax.
// Tests      open_counts_test.cpp.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include "base/result.h"

namespace moraine::client {

inline constexpr std::size_t kOpenTransactionsMax = 100'000;
inline constexpr std::size_t kOpenScansMax = 20'000;

class OpenCount {
 public:
  // One of those that are open; empty when moved from or released.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      if (this != &other) {
        release();
        count_ = std::exchange(other.count_, nullptr);
      }
      return *this;
    }
    ~Place() { release(); }
    void release() {
      if (OpenCount* const count = std::exchange(count_, nullptr)) {
        count->open_.fetch_sub(1, std::memory_order_relaxed);
      }
    }

   private:
    friend class OpenCount;
    explicit Place(OpenCount& count) : count_(&count) {}

    OpenCount* count_ = nullptr;
  };

  // `what` and `advice` are for the error and live as long as the count.
  OpenCount(std::size_t most, const char* what, const char* advice)
      : most_(most), what_(what), advice_(advice) {}

  Result<Place> enter() {
    if (open_.fetch_add(1, std::memory_order_relaxed) < most_) return Place(*this);
    open_.fetch_sub(1, std::memory_order_relaxed);
    return fail(Errc::kOverloaded, fmt::format("{} {} are open on this node, its limit; {}, or "
                                               "retry later",
                                               most_, what_, advice_));
  }
  std::size_t open() const { return open_.load(std::memory_order_relaxed); }

 private:
  const std::size_t most_;
  const char* const what_;
  const char* const advice_;
  std::atomic<std::size_t> open_{0};
};

struct OpenCounts {
  OpenCount transactions{kOpenTransactionsMax, "transactions", "commit or abort some of them"};
  OpenCount scans{kOpenScansMax, "scans", "read some of them to their end or destroy them"};
};

}  // namespace moraine::client
