// The state of topics in the form that Prometheus reads.
//
// Limits     Of the partitions of a node the first kReportedPartitionsMax are told one by one.
#pragma once

#include <string>

#include "queue/blob_cache.h"
#include "service/topics_report.h"

namespace moraine::app {

inline constexpr std::size_t kReportedPartitionsMax = 10'000;

std::string topic_metrics(const TopicsReport& report, const queue::BlobCache& cache);

}  // namespace moraine::app
