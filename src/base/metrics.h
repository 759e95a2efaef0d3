// Metrics: counters, gauges and histograms that cost one or two relaxed atomic additions, and their
// Prometheus text form.
//
//   Counter& puts = registry.counter("moraine_blob_puts_total", {{"group", "1"}}, "Puts by group");
//   puts.add();
//
// Promise    The same name and labels always return the same metric, which lives as long as its
//            registry. expose() is sorted, so equal states give equal text.
// Invariants A name has one kind, and a histogram one unit.
// Threading  Any thread. Look a metric up once and keep the reference: lookups take a lock.
// Limits     At most kMetricSeriesMax series; past that, new label sets of a name share one series
//            labelled overflow="true".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace moraine {

inline constexpr std::size_t kMetricSeriesMax = 10'000;

// Only increases.
class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Increases and decreases.
class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(std::int64_t change) { value_.fetch_add(change, std::memory_order_relaxed); }
  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// The unit of the observed integers. Nanoseconds are exposed as seconds, as is usual in Prometheus.
enum class MetricUnit : std::uint8_t { kCount, kBytes, kNanoseconds };

// Distribution of non-negative integers, in buckets of kStepsPerOctave per power of two: a quantile
// is at most 1/kStepsPerOctave above the true one.
class Histogram {
 public:
  static constexpr std::uint32_t kStepsPerOctave = 8;

  explicit Histogram(MetricUnit unit = MetricUnit::kCount) : unit_(unit) {}

  void observe(std::uint64_t value) {
    buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  MetricUnit unit() const { return unit_; }
  std::uint64_t count() const;
  std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  // How many observed values are below `bound`, exactly. Requires: `bound` is a power of two.
  std::uint64_t count_below(std::uint64_t bound) const;
  // The smallest bucket end that `fraction` of the values do not exceed; 0 without values.
  // Requires: 0 <= fraction <= 1.
  std::uint64_t quantile(double fraction) const;

 private:
  // Values below kStepsPerOctave have a bucket each; then come 61 octaves of kStepsPerOctave.
  static constexpr std::size_t kBuckets = kStepsPerOctave * 62;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t last_value_of(std::size_t bucket);

  MetricUnit unit_;
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class MetricRegistry {
 public:
  explicit MetricRegistry(std::size_t series_max = kMetricSeriesMax) : series_max_(series_max) {}
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  // Requires: `name` and label names are [a-zA-Z_][a-zA-Z0-9_]*.
  Counter& counter(std::string_view name, MetricLabels labels, std::string_view help);
  Gauge& gauge(std::string_view name, MetricLabels labels, std::string_view help);
  Histogram& histogram(std::string_view name, MetricLabels labels, std::string_view help,
                       MetricUnit unit);

  // Everything in the Prometheus text format, version 0.0.4.
  std::string expose() const;

 private:
  using Metric =
      std::variant<std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>>;
  struct Family {
    std::string help;
    std::map<std::string, Metric> series;  // By rendered labels.
  };

  template <class T, class... Arguments>
  T& find_or_add(std::string_view name, MetricLabels labels, std::string_view help,
                 Arguments... arguments);

  mutable std::mutex mutex_;
  std::size_t series_max_;
  std::size_t series_ = 0;
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace moraine
