#include "node/tree_metrics.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(TreeMetrics, LagsAreCountedInTheirBuckets) {
  TreeFigures figures;
  for (const std::uint64_t lag : {0, 10, 11, 700, 400'000}) figures.add_removal(lag);
  const std::string text = to_prometheus(figures);
  const auto has = [&](const std::string& line) {
    EXPECT_NE(text.find("\nmoraine_tree_" + line + "\n"), std::string::npos) << line << "\n"
                                                                             << text;
  };
  has("expired_nodes_total 5");
  has("removal_lag_seconds_bucket{le=\"0.01\"} 2");
  has("removal_lag_seconds_bucket{le=\"0.05\"} 3");
  has("removal_lag_seconds_bucket{le=\"1\"} 4");
  has("removal_lag_seconds_bucket{le=\"300\"} 4");
  has("removal_lag_seconds_bucket{le=\"+Inf\"} 5");
  has("removal_lag_seconds_count 5");
  has("removal_lag_seconds_sum 400.721");
  EXPECT_EQ(figures.lag_ms_max, 400'000u);
}

}  // namespace
}  // namespace moraine
