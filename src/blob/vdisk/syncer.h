// Syncer: pulls index facts from every neighbour, all the time.
//
// Promise    What one disk of the group knows durably, all others know a few periods later. A
//            barrier received by a full sync takes effect only after every flag that was set before
//            it was received too.
// Threading  The VDisk's executor.
#pragma once

#include <cstdint>
#include <map>

#include "blob/protocol.h"
#include "blob/vdisk/state.h"
#include "io/event.h"

namespace moraine::blob {

class VDisk;

// The reply to a neighbour's pull. A full sync sends blobs, blocks, barriers in key order.
Result<PullFactsReply> serve_pull(const VDiskState& state, const PullFacts& request);

class Syncer {
 public:
  explicit Syncer(VDisk& disk) : disk_(disk) {}

  // One loop per neighbour, in `scope`.
  void start(TaskScope& scope);
  void stop() { stopped_ = true; }

  // Pulls everything that `order` has now. False when the end was not reached.
  Task<bool> pull_all(std::uint32_t order);
  // The position up to which `order` was read.
  SyncPosition read_so_far(std::uint32_t order);
  // Resets the position of a neighbour: the next pull is a full sync.
  void forget(std::uint32_t order) { progress_[order] = Progress{}; }

 private:
  struct Progress {
    std::uint64_t log = 0;
    std::uint64_t position = 0;
    // During a full sync and until its tail is caught up.
    bool full = false;
    Slice cursor;
    bool more = false;  // The last reply did not reach the end.
    std::uint64_t target = 0;
    std::vector<IndexFact> barriers;
  };
  Task<void> follow(std::uint32_t order);
  // Sends this disk's guid again to a neighbour that lost its data, and the guid with it.
  Task<void> remind(std::uint32_t order);
  // One request and the handling of its reply.
  enum class Step : std::uint8_t { kMore, kDone, kFailed };
  Task<Step> step(std::uint32_t order);
  Task<Result<void>> take(Progress& progress, std::uint32_t order, PullFactsReply pulled);
  Task<Result<void>> finish_full(Progress& progress, std::uint32_t order);
  Progress& progress(std::uint32_t order);

  VDisk& disk_;
  bool stopped_ = false;
  std::map<std::uint32_t, Progress> progress_;
};

}  // namespace moraine::blob
