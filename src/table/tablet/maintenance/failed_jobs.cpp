#include "table/tablet/maintenance/failed_jobs.h"

#include <algorithm>

namespace moraine::table {

void FailedJobs::add(const std::vector<std::uint64_t>& chunks, Error error, Instant now) {
  Job job;
  job.chunks.insert(chunks.begin(), chunks.end());
  job.error = std::move(error);
  job.failures = 1;
  // A subset of this set that failed before counts as the same set.
  std::erase_if(jobs_, [&job](const Job& known) {
    if (!std::ranges::includes(job.chunks, known.chunks)) return false;
    job.failures = std::max(job.failures, known.failures + 1);
    return true;
  });
  Duration pause = kFailedJobPauseMin;
  for (std::uint32_t i = 1; i < job.failures && pause < kFailedJobPauseMax; ++i) pause *= 2;
  job.retry = now + std::min(pause, kFailedJobPauseMax);
  if (jobs_.size() >= kFailedJobsMax) {
    jobs_.erase(std::ranges::min_element(jobs_, {}, &Job::retry));
  }
  jobs_.push_back(std::move(job));
}

void FailedJobs::forget(std::uint64_t chunk) {
  std::erase_if(jobs_, [chunk](const Job& job) { return job.chunks.contains(chunk); });
}

std::set<std::uint64_t> FailedJobs::waiting(Instant now) const {
  std::set<std::uint64_t> all;
  for (const Job& job : jobs_) {
    if (job.retry > now) all.insert(job.chunks.begin(), job.chunks.end());
  }
  return all;
}

Instant FailedJobs::next(Instant now) const {
  Instant next = Instant::never();
  for (const Job& job : jobs_) {
    if (job.retry > now) next = std::min(next, job.retry);
  }
  return next;
}

}  // namespace moraine::table
