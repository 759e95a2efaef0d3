// ReadStatistics: what reads of a tablet did, for metrics and attributes.
//
// Threading  Any thread; relaxed counters on cache lines of their own groups.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/metrics.h"
#include "table/chunk/chunk_reader.h"

namespace moraine::table {

struct LookupStatistics {
  std::atomic<std::uint64_t> rows{0};  // Keys found.
  std::atomic<std::uint64_t> missing_rows{0};
  std::atomic<std::uint64_t> unmerged_rows{0};  // Found in single stores.
  std::atomic<std::uint64_t> data_weight{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> waits{0};    // For rows that were being decided.
  std::atomic<std::uint64_t> retries{0};  // Of keys: each time that more was read for them.
};

struct ReadStatistics {
  alignas(64) LookupStatistics lookup;
  alignas(64) LookupStatistics scan;
  alignas(64) ChunkReadStatistics chunks;
  alignas(64) ChunkReadStatistics hunks;
  Histogram lookup_duration{MetricUnit::kNanoseconds};  // Of lookups that had to read.
};

}  // namespace moraine::table
