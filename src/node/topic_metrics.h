// The state of topics in the Prometheus format.
//
// Limits     The first kReportedPartitionsMax partitions of a node are reported separately, and the
//            lag of the first kReportedConsumersMax consumers of these.
#pragma once

#include <string>

#include "node/node.h"

namespace moraine {

inline constexpr std::size_t kReportedPartitionsMax = 10'000;
inline constexpr std::size_t kReportedConsumersMax =
    10'000;  // A consumer of each partition counts.

std::string to_prometheus(const TopicsReport& report, const TopicCacheFigures& cache);

}  // namespace moraine
