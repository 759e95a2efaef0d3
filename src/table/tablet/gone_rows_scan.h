// GoneRowsScan: steps over rows that are known to be gone where a scan begins, and tells of more.
//
// Promise    The scan gives the same rows as without it. It learns at sync_last_committed only,
//            where it meets the newest version of every row.
// Threading  As the scan. It must be made before the scan looks at the stores.
// Tests      tablet_scan_gone_test.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "io/executor.h"
#include "table/model/versioned_row.h"
#include "table/tablet/gone_range.h"

namespace moraine::table {

class GoneRowsScan {
 public:
  // `range` may be null: there is nothing to skip or to learn.
  GoneRowsScan(std::shared_ptr<GoneRange> range, Executor& executor, Timestamp timestamp)
      : range_(std::move(range)),
        executor_(executor),
        timestamp_(timestamp),
        learning_(range_ && timestamp == kSyncLastCommitted),
        ticket_(range_ ? range_->ticket() : 0) {}

  // The scan begins here: moves the position over what is gone.
  void begin(std::string& position) {
    if (!range_) return;
    range_->skip(position, timestamp_);
    if (learning_) start_ = position;
  }
  bool learning() const { return learning_; }
  // The next row; requires: learning().
  void met(const VersionedRow& row, bool visible) {
    if (visible) return end(std::string(as_text(row.key)));
    const bool deleted =
        !row.delete_timestamps.empty() &&
        (row.write_timestamps.empty() || row.delete_timestamps[0] > row.write_timestamps[0]);
    if (!deleted) {
      learning_ = false;
      return;
    }
    ++rows_;
    since_ = std::max(since_, row.delete_timestamps[0]);
  }
  // All rows before this key were met, and no more are.
  void end(std::string key) {
    if (!std::exchange(learning_, false) || rows_ < kGoneRowsMin) return;
    executor_.post([range = range_, ticket = ticket_, from = std::move(start_), to = std::move(key),
                    since = since_]() mutable {
      range->learn(ticket, std::move(from), std::move(to), since);
    });
  }

 private:
  const std::shared_ptr<GoneRange> range_;
  Executor& executor_;
  const Timestamp timestamp_;
  bool learning_;
  const std::uint64_t ticket_;
  std::string start_;
  std::size_t rows_ = 0;
  Timestamp since_ = 0;
};

}  // namespace moraine::table
