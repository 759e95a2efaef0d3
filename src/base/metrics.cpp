#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::uint32_t kStepBits = std::countr_zero(Histogram::kStepsPerOctave);
static_assert(std::has_single_bit(Histogram::kStepsPerOctave));

// Exposed bucket bounds are 2^first, 2^(first+step), ... 2^last: about 1 us to 69 s, 64 B to 64
// MiB, 1 to 65536.
struct ExposedBounds {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
};

ExposedBounds exposed_bounds(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kBytes: return {6, 26, 2};
    case MetricUnit::kNanoseconds: return {10, 36, 1};
    case MetricUnit::kCount: break;
  }
  return {0, 16, 1};
}

std::string in_base_unit(std::uint64_t value, MetricUnit unit) {
  if (unit == MetricUnit::kNanoseconds) return fmt::format("{}", static_cast<double>(value) / 1e9);
  return fmt::format("{}", value);
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void append_escaped(std::string& out, std::string_view text, bool escape_quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (escape_quotes && c == '"')) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
}

// a="1",b="2", sorted by name.
std::string render(MetricLabels labels) {
  std::ranges::sort(labels);
  std::string text;
  for (const auto& [name, value] : labels) {
    INVARIANT(is_name(name), "label '{}' is not a Prometheus label name", name);
    fmt::format_to(std::back_inserter(text), "{}{}=\"", text.empty() ? "" : ",", name);
    append_escaped(text, value, true);
    text += '"';
  }
  return text;
}

void append_sample(std::string& out, std::string_view name, std::string_view labels,
                   std::string_view value) {
  if (labels.empty()) {
    fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
  } else {
    fmt::format_to(std::back_inserter(out), "{}{{{}}} {}\n", name, labels, value);
  }
}

void append_histogram(std::string& out, std::string_view name, const std::string& labels,
                      const Histogram& histogram) {
  const ExposedBounds bounds = exposed_bounds(histogram.unit());
  const std::string bucket_name = fmt::format("{}_bucket", name);
  const std::string separator = labels.empty() ? "" : ",";
  // Read before the buckets, so that no bucket can pass the count while others observe.
  const std::uint64_t sum = histogram.sum();
  std::uint64_t below = 0;
  for (std::uint32_t power = bounds.first; power <= bounds.last; power += bounds.step) {
    // Integers below 2^p are those that are at most 2^p - 1.
    const std::uint64_t bound = std::uint64_t{1} << power;
    below = std::max(below, histogram.count_below(bound));
    append_sample(
        out, bucket_name,
        fmt::format("{}{}le=\"{}\"", labels, separator, in_base_unit(bound - 1, histogram.unit())),
        fmt::format("{}", below));
  }
  const std::uint64_t count = std::max(below, histogram.count());
  append_sample(out, bucket_name, fmt::format("{}{}le=\"+Inf\"", labels, separator),
                fmt::format("{}", count));
  append_sample(out, fmt::format("{}_sum", name), labels, in_base_unit(sum, histogram.unit()));
  append_sample(out, fmt::format("{}_count", name), labels, fmt::format("{}", count));
}

}  // namespace

std::size_t Histogram::bucket_of(std::uint64_t value) {
  if (value < kStepsPerOctave) return value;
  const auto octave = static_cast<std::uint32_t>(std::bit_width(value)) - 1 - kStepBits;
  return kStepsPerOctave * (octave + 1) + ((value >> octave) - kStepsPerOctave);
}

std::uint64_t Histogram::last_value_of(std::size_t bucket) {
  if (bucket < kStepsPerOctave) return bucket;
  const std::size_t octave = bucket / kStepsPerOctave - 1;
  const std::uint64_t start = (kStepsPerOctave + bucket % kStepsPerOctave) << octave;
  return start + ((std::uint64_t{1} << octave) - 1);
}

std::uint64_t Histogram::count() const {
  std::uint64_t total = 0;
  for (const auto& bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
  return total;
}

std::uint64_t Histogram::count_below(std::uint64_t bound) const {
  INVARIANT(std::has_single_bit(bound), "{} is not a power of two", bound);
  std::uint64_t total = 0;
  const std::size_t end = bucket_of(bound);
  for (std::size_t i = 0; i < end; ++i) total += buckets_[i].load(std::memory_order_relaxed);
  return total;
}

std::uint64_t Histogram::quantile(double fraction) const {
  INVARIANT(fraction >= 0 && fraction <= 1, "quantile {} is outside [0, 1]", fraction);
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const auto rank =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(fraction * total)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i].load(std::memory_order_relaxed);
    if (seen >= rank) return last_value_of(i);
  }
  return last_value_of(kBuckets - 1);
}

template <class T, class... Arguments>
T& MetricRegistry::find_or_add(std::string_view name, MetricLabels labels, std::string_view help,
                               Arguments... arguments) {
  INVARIANT(is_name(name), "'{}' is not a Prometheus metric name", name);
  std::string key = render(std::move(labels));
  const std::lock_guard lock(mutex_);
  auto family = families_.find(name);
  if (family == families_.end()) {
    family = families_.emplace(std::string(name), Family{std::string(help), {}}).first;
  }
  auto& series = family->second.series;
  auto at = series.find(key);
  if (at == series.end() && series_ >= series_max_) {
    key = render({{"overflow", "true"}});
    at = series.find(key);
  }
  if (at == series.end()) {
    at = series.emplace(std::move(key), std::make_unique<T>(arguments...)).first;
    ++series_;
  }
  INVARIANT(series.begin()->second.index() == at->second.index(), "metric '{}' has two kinds",
            name);
  auto* metric = std::get_if<std::unique_ptr<T>>(&at->second);
  INVARIANT(metric != nullptr, "metric '{}' is asked for as another kind", name);
  return **metric;
}

Counter& MetricRegistry::counter(std::string_view name, MetricLabels labels,
                                 std::string_view help) {
  return find_or_add<Counter>(name, std::move(labels), help);
}

Gauge& MetricRegistry::gauge(std::string_view name, MetricLabels labels, std::string_view help) {
  return find_or_add<Gauge>(name, std::move(labels), help);
}

Histogram& MetricRegistry::histogram(std::string_view name, MetricLabels labels,
                                     std::string_view help, MetricUnit unit) {
  Histogram& found = find_or_add<Histogram>(name, std::move(labels), help, unit);
  INVARIANT(found.unit() == unit, "histogram '{}' is asked for in another unit", name);
  return found;
}

std::string MetricRegistry::expose() const {
  constexpr std::array<std::string_view, 3> kKinds = {"counter", "gauge", "histogram"};
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) {
    fmt::format_to(std::back_inserter(out), "# HELP {} ", name);
    append_escaped(out, family.help, false);
    fmt::format_to(std::back_inserter(out), "\n# TYPE {} {}\n", name,
                   kKinds[family.series.begin()->second.index()]);
    for (const auto& [labels, metric] : family.series) {
      if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&metric)) {
        append_sample(out, name, labels, fmt::format("{}", (*counter)->value()));
      } else if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&metric)) {
        append_sample(out, name, labels, fmt::format("{}", (*gauge)->value()));
      } else {
        append_histogram(out, name, labels, *std::get<std::unique_ptr<Histogram>>(metric));
      }
    }
  }
  return out;
}

}  // namespace moraine
