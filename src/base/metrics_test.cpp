#include "base/metrics.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(MetricRegistry, GivesTheSameMetricForTheSameNameAndLabelsInAnyOrder) {
  MetricRegistry registry;
  Counter& first = registry.counter("puts_total", {{"a", "1"}, {"b", "2"}}, "Puts");
  Counter& again = registry.counter("puts_total", {{"b", "2"}, {"a", "1"}}, "Puts");
  EXPECT_EQ(&first, &again);
  EXPECT_NE(&first, &registry.counter("puts_total", {{"a", "1"}}, "Puts"));
}

TEST(MetricRegistry, ExposesCountersAndGaugesSortedByNameAndLabels) {
  MetricRegistry registry;
  registry.counter("puts_total", {{"group", "2"}}, "Puts by group").add(7);
  registry.counter("puts_total", {{"group", "1"}}, "Puts by group").add();
  registry.gauge("free_bytes", {}, "Free space").set(-5);
  EXPECT_EQ(registry.expose(),
            "# HELP free_bytes Free space\n"
            "# TYPE free_bytes gauge\n"
            "free_bytes -5\n"
            "# HELP puts_total Puts by group\n"
            "# TYPE puts_total counter\n"
            "puts_total{group=\"1\"} 1\n"
            "puts_total{group=\"2\"} 7\n");
}

TEST(MetricRegistry, EscapesLabelValues) {
  MetricRegistry registry;
  registry.counter("reads_total", {{"path", "a\"b\\c\nd"}}, "Reads").add();
  EXPECT_NE(registry.expose().find(R"(reads_total{path="a\"b\\c\nd"} 1)"), std::string::npos);
}

TEST(MetricRegistry, SharesOneSeriesPastItsBound) {
  MetricRegistry registry(2);
  Counter& one = registry.counter("reads_total", {{"tablet", "1"}}, "Reads");
  registry.counter("reads_total", {{"tablet", "2"}}, "Reads");
  Counter& three = registry.counter("reads_total", {{"tablet", "3"}}, "Reads");
  Counter& four = registry.counter("reads_total", {{"tablet", "4"}}, "Reads");
  EXPECT_EQ(&three, &four);
  EXPECT_EQ(&one, &registry.counter("reads_total", {{"tablet", "1"}}, "Reads"));
  three.add(3);
  EXPECT_NE(registry.expose().find("reads_total{overflow=\"true\"} 3"), std::string::npos);
}

TEST(MetricRegistryDeathTest, RefusesOneNameWithTwoKinds) {
  MetricRegistry registry;
  registry.counter("puts_total", {}, "Puts");
  EXPECT_DEATH(registry.gauge("puts_total", {}, "Puts"), "another kind");
  EXPECT_DEATH(registry.gauge("puts_total", {{"group", "1"}}, "Puts"), "two kinds");
  EXPECT_DEATH(registry.counter("puts-total", {}, "Puts"), "not a Prometheus metric name");
}

TEST(Histogram, CountsEveryValueBelowAPowerOfTwoExactly) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 3000; ++value) histogram.observe(value);
  for (std::uint64_t bound = 1; bound <= 2048; bound *= 2) {
    EXPECT_EQ(histogram.count_below(bound), bound);
  }
  EXPECT_EQ(histogram.count_below(4096), 3000u);
  EXPECT_EQ(histogram.sum(), 3000u * 2999 / 2);
}

TEST(Histogram, TakesTheLargestValues) {
  Histogram histogram;
  histogram.observe(~std::uint64_t{0});
  histogram.observe(std::uint64_t{1} << 63);
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.quantile(1), ~std::uint64_t{0});
}

TEST(Histogram, GivesQuantilesWithinOneStepOfAnOctave) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  for (std::uint64_t value = 1; value <= 10'000; ++value) histogram.observe(value);
  for (const double fraction : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = std::max(1.0, fraction * 10'000);
    const auto found = static_cast<double>(histogram.quantile(fraction));
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * (1 + 1.0 / Histogram::kStepsPerOctave));
  }
}

TEST(Histogram, IsExposedInSecondsWithCumulativeBuckets) {
  MetricRegistry registry;
  Histogram& latency =
      registry.histogram("put_seconds", {{"group", "1"}}, "Put latency", MetricUnit::kNanoseconds);
  latency.observe(500);
  latency.observe(1'500'000'000);
  const std::string text = registry.expose();
  EXPECT_NE(text.find("# TYPE put_seconds histogram\n"), std::string::npos);
  EXPECT_NE(text.find("put_seconds_bucket{group=\"1\",le=\"1.023e-06\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("le=\"4.095e-06\""), std::string::npos) << "shortest decimals\n" << text;
  EXPECT_EQ(text.find("0000000"), std::string::npos) << text;
  EXPECT_NE(text.find("put_seconds_bucket{group=\"1\",le=\"+Inf\"} 2\n"), std::string::npos);
  EXPECT_NE(text.find("put_seconds_sum{group=\"1\"} 1.5000005\n"), std::string::npos);
  EXPECT_NE(text.find("put_seconds_count{group=\"1\"} 2\n"), std::string::npos);
}

}  // namespace
}  // namespace moraine
