// FailedJobs: sets of chunks whose compaction has failed, and when each may be retried.
//
// Promise    Pure. Chunks of a failed set wait for a time that doubles with each failure, from
//            kFailedJobPauseMin to kFailedJobPauseMax; other chunks are not affected. A set that
//            has grown since counts as the same one.
// Limits     kFailedJobsMax sets; beyond that the set that may be retried first is dropped.
// Threading  The tablet's executor.
// Tests      failed_jobs_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "io/executor.h"

namespace moraine::table {

inline constexpr Duration kFailedJobPauseMin = 1s;
inline constexpr Duration kFailedJobPauseMax = 5min;
inline constexpr std::size_t kFailedJobsMax = 256;

class FailedJobs {
 public:
  void add(const std::vector<std::uint64_t>& chunks, Error error, Instant now);
  // The chunk was removed, or may be retried now: drops the sets that contain it.
  void forget(std::uint64_t chunk);

  bool empty() const { return jobs_.empty(); }
  // Chunks that must not be compacted yet.
  std::set<std::uint64_t> waiting(Instant now) const;
  // When the next of them may be retried; never: none waits.
  Instant next(Instant now) const;
  // The error of the set that failed last.
  const Error* error() const { return jobs_.empty() ? nullptr : &jobs_.back().error; }

 private:
  struct Job {
    std::set<std::uint64_t> chunks;
    Error error;
    std::uint32_t failures = 0;
    Instant retry;
  };
  std::vector<Job> jobs_;  // Ordered by their last failure.
};

}  // namespace moraine::table
