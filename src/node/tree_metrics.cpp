#include "node/tree_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace moraine {
namespace {

void append(std::string& text, std::string_view name, std::string_view kind, std::string_view help,
            std::uint64_t value) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, kind, help, value);
}

double seconds(std::uint64_t ms) {
  return static_cast<double>(ms) / 1'000;
}

}  // namespace

void TreeFigures::add_removal(std::uint64_t lag_ms) {
  ++expired;
  lag_ms_total += lag_ms;
  lag_ms_max = std::max(lag_ms_max, lag_ms);
  const auto* const bound = std::ranges::lower_bound(kLagBounds, lag_ms);
  ++lags[static_cast<std::size_t>(bound - kLagBounds.begin())];
}

std::string to_prometheus(const TreeFigures& figures) {
  std::string text;
  append(text, "moraine_tree_nodes", "gauge", "Nodes of the tree", figures.nodes);
  append(text, "moraine_tree_transactions_open", "gauge", "Open transactions of the tree",
         figures.transactions);
  append(text, "moraine_tree_transactions_timed_out_total", "counter",
         "Transactions of the tree aborted without a ping in time", figures.transactions_timed_out);
  append(text, "moraine_tree_expiring_nodes", "gauge", "Nodes that will expire", figures.expiring);
  append(text, "moraine_tree_expired_nodes_total", "counter", "Expired nodes that were removed",
         figures.expired);
  append(text, "moraine_tree_expiry_postponed_total", "counter",
         "Removals of expired nodes that a lock put off", figures.postponed);
  constexpr std::string_view kLag = "moraine_tree_removal_lag_seconds";
  text += fmt::format("# HELP {0} Time from expiry to removal\n# TYPE {0} histogram\n", kLag);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < TreeFigures::kLagBounds.size(); ++i) {
    below += figures.lags[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", kLag, seconds(TreeFigures::kLagBounds[i]),
                        below);
  }
  text += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", kLag,
                      figures.expired, seconds(figures.lag_ms_total));
  text += fmt::format(
      "# HELP {0} How long the oldest expired node is still there\n# TYPE {0} gauge\n{0} {1}\n",
      "moraine_tree_oldest_expired_age_seconds", seconds(figures.oldest_expired_ms));
  return text;
}

}  // namespace moraine
