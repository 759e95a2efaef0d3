// Orders the batches found on a device into the log: a pure function.
//
// Promise    Every batch that was ever acknowledged is in the log, in order, or reported lost. What
//            follows the torn tail of a run is never part of the log.
// Why        Batches of one run are written several at a time and acknowledged in order. A batch
//            that is missing or torn was acknowledged only if a later batch has it in `durable`, or
//            a later run has it in its log (`previous_last`).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "blob/device/batch.h"

namespace moraine::blob {

struct LogPlan {
  std::vector<std::size_t> replay;  // Indices into the headers, in log order.
  std::vector<std::uint64_t> lost;  // Sequences that were acknowledged and cannot be read.
  std::uint64_t last = 0;           // The last sequence of the log.
};

// `headers`: every valid batch found in segments of the start epoch or later, in any order.
// `whole(i)`: is the data of batch i intact? Called only where the result matters.
LogPlan order_log(const std::vector<BatchHeader>& headers, std::uint64_t start_sequence,
                  std::uint32_t start_run, const std::function<bool(std::size_t)>& whole);

}  // namespace moraine::blob
