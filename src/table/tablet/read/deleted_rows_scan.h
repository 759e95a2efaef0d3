// DeletedRowsScan: skips rows known to be deleted where a scan begins, and publishes a range of
// deleted rows that the scan finds.
//
// Promise    The scan returns the same rows as without it. It observes rows at sync_last_committed
//            only, where the scan visits the newest version of every row.
// Threading  As the scan. Must be constructed before the scan opens the stores.
// Tests      tablet_scan_deleted_test.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "io/executor.h"
#include "table/model/versioned_row.h"
#include "table/tablet/read/deleted_range.h"

namespace moraine::table {

class DeletedRowsScan {
 public:
  // `range` may be null: nothing to skip or to publish.
  DeletedRowsScan(std::shared_ptr<DeletedRange> range, Executor& executor, Timestamp timestamp)
      : range_(std::move(range)),
        executor_(executor),
        timestamp_(timestamp),
        observing_(range_ && timestamp == kSyncLastCommitted),
        ticket_(range_ ? range_->ticket() : 0) {}

  // The scan begins here: moves the position past deleted rows.
  void begin(std::string& position) {
    if (!range_) return;
    range_->skip(position, timestamp_);
    if (observing_) start_ = position;
  }
  bool observing() const { return observing_; }
  // The next row of the scan. Requires: observing().
  void visit(const VersionedRow& row, bool visible) {
    if (visible) return end(std::string(as_text(row.key)));
    const bool deleted =
        !row.delete_timestamps.empty() &&
        (row.write_timestamps.empty() || row.delete_timestamps[0] > row.write_timestamps[0]);
    if (!deleted) {
      observing_ = false;
      return;
    }
    ++rows_;
    since_ = std::max(since_, row.delete_timestamps[0]);
  }
  // All rows before this key were visited; ends the observation.
  void end(std::string key) {
    if (!std::exchange(observing_, false) || rows_ < kDeletedRowsMin) return;
    executor_.post([range = range_, ticket = ticket_, from = std::move(start_), to = std::move(key),
                    since = since_]() mutable {
      range->publish(ticket, std::move(from), std::move(to), since);
    });
  }

 private:
  const std::shared_ptr<DeletedRange> range_;
  Executor& executor_;
  const Timestamp timestamp_;
  bool observing_;
  const std::uint64_t ticket_;
  std::string start_;
  std::size_t rows_ = 0;
  Timestamp since_ = 0;
};

}  // namespace moraine::table
