#include "bench/measure.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/invariant.h"

namespace moraine::bench {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
  INVARIANT(!values.empty(), "the median of nothing");
  const std::size_t middle = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void Rounds::add(Round round) {
  operations_.push_back(round.operations_per_second());
  megabytes_.push_back(round.megabytes_per_second());
  cpu_.push_back(round.cpu_seconds / static_cast<double>(round.operations) * 1e6);
  latencies_.insert(latencies_.end(), round.latencies.begin(), round.latencies.end());
}

double Rounds::latency(double quantile) const {
  if (latencies_.empty()) return 0;
  std::vector<std::uint64_t> sorted = latencies_;
  const auto at = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, sorted.begin() + at);
  return static_cast<double>(sorted[static_cast<std::size_t>(at)]) / 1e3;
}

}  // namespace moraine::bench
