#include "blob/device/log_order.h"

#include <algorithm>
#include <map>

namespace moraine::blob {
namespace {

// The sequences of one run that belong to the log: [first, last], and how far they were
// acknowledged.
struct Run {
  std::uint64_t first = 0;
  std::uint64_t last_found = 0;
  std::uint64_t durable = 0;
  std::uint64_t previous_last = 0;
  std::map<std::uint64_t, std::size_t> batches;  // By sequence.
};

std::map<std::uint32_t, Run> by_run(const std::vector<BatchHeader>& headers,
                                    std::uint64_t start_sequence, std::uint32_t start_run) {
  std::map<std::uint32_t, Run> runs;
  // The run that wrote the checkpoint is expected even when none of its batches can be read.
  runs[start_run].first = start_sequence;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const BatchHeader& header = headers[i];
    if (header.sequence < start_sequence || header.run < start_run) continue;
    Run& run = runs[header.run];
    run.first = header.run_first;
    run.previous_last = header.previous_last;
    run.last_found = std::max(run.last_found, header.sequence);
    run.durable = std::max(run.durable, header.durable);
    run.batches.emplace(header.sequence, i);
  }
  return runs;
}

}  // namespace

LogPlan order_log(const std::vector<BatchHeader>& headers, std::uint64_t start_sequence,
                  std::uint32_t start_run, const std::function<bool(std::size_t)>& whole) {
  LogPlan plan;
  plan.last = start_sequence - 1;
  const auto runs = by_run(headers, start_sequence, start_run);
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    const auto next = std::next(run);
    // A later run records where this one ended; otherwise `durable` of its own batches does.
    const bool closed = next != runs.end();
    const std::uint64_t acknowledged = closed ? next->second.previous_last : run->second.durable;
    const std::uint64_t end = closed ? next->second.previous_last : run->second.last_found;
    for (std::uint64_t sequence = std::max(start_sequence, run->second.first); sequence <= end;
         ++sequence) {
      const auto found = run->second.batches.find(sequence);
      const bool known = sequence <= acknowledged;
      if (found == run->second.batches.end() || (!known && !whole(found->second))) {
        if (!known) break;
        plan.lost.push_back(sequence);
        continue;
      }
      plan.replay.push_back(found->second);
      plan.last = sequence;
    }
    if (closed) plan.last = std::max(plan.last, next->second.previous_last);
  }
  return plan;
}

}  // namespace moraine::blob
