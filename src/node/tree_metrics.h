// Figures of the tree, and their Prometheus text (docs/operations.md lists the names).
//
// Promise    Plain values; rendering is pure.
// Tests      tree_metrics_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace moraine {

struct TreeFigures {
  // Upper bounds of the buckets of removal lags, in milliseconds; the last bucket has the rest.
  static constexpr std::array<std::uint64_t, 9> kLagBounds = {10,    50,    100,    500,    1'000,
                                                              2'000, 5'000, 30'000, 300'000};

  std::uint64_t nodes = 0;
  std::uint64_t transactions = 0;  // Open ones.
  std::uint64_t transactions_timed_out = 0;
  std::uint64_t expiring = 0;  // Nodes that will expire.
  std::uint64_t expired = 0;   // Nodes that were removed since they had expired.
  std::uint64_t postponed = 0;
  std::uint64_t lag_ms_max = 0;  // From expiry to removal.
  std::uint64_t lag_ms_total = 0;
  std::array<std::uint64_t, kLagBounds.size() + 1> lags{};
  std::uint64_t oldest_expired_ms = 0;  // How long the oldest expired node is still there.

  void add_removal(std::uint64_t lag_ms);
};

std::string to_prometheus(const TreeFigures& figures);

}  // namespace moraine
