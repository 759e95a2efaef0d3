// The state of topics in the Prometheus format.
//
// Limits     The first kReportedPartitionsMax partitions of a node are reported separately.
#pragma once

#include <string>

#include "node/node.h"

namespace moraine::app {

inline constexpr std::size_t kReportedPartitionsMax = 10'000;

std::string topic_metrics(const TopicsReport& report, const TopicCacheFigures& cache);

}  // namespace moraine::app
