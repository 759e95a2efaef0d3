// DeletedRange: a range of keys in which every row is known to be deleted, so that scans need not
// step over the deleted rows one by one (a table used as a queue).
//
// A scan at sync_last_committed that visited many deleted rows before its first visible one
// publishes the range. It is valid until a row in it is written. Scans at timestamps before
// `since`, the last of those deletes, ignore it.
//
// Promise    Between `from` and `to` no row is visible at `since` or later, as long as the range is
//            published. It is withdrawn before the first mark of a write into it is set, so a
//            reader that must see that write finds it withdrawn.
// Threading  begin_write(), end_write(), publish(), forget(): the tablet's executor. ticket() and
//            skip(): any thread.
// Limits     One range; the last kRecentWritesMax writes.
// Tests      deleted_range_test.cpp, tablet_scan_deleted_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table/model/timestamp.h"

namespace moraine::table {

inline constexpr std::size_t kRecentWritesMax = 256;
// Minimum number of adjacent deleted rows for a range.
inline constexpr std::size_t kDeletedRowsMin = 64;

class DeletedRange {
 public:
  DeletedRange() = default;
  DeletedRange(const DeletedRange&) = delete;
  DeletedRange& operator=(const DeletedRange&) = delete;
  ~DeletedRange();

  // Rows between these keys, both included, are about to be written; called before any mark is set.
  // Returns the number for end_write(), which is called when the versions are applied or the write
  // has failed.
  std::uint64_t begin_write(std::string_view first, std::string_view last);
  void end_write(std::uint64_t number);

  // Taken before a scan opens the stores: every write with a lower number has ended.
  std::uint64_t ticket() const { return settled_.load(std::memory_order_acquire); }
  // All rows at or above `from` and below `to` were deleted, the last of them at `since`, and had
  // no later write that ended before the ticket was taken. Ignored when a write came in between.
  void publish(std::uint64_t ticket, std::string from, std::string to, Timestamp since);
  void forget();

  // Moves the key to the range's end if it is within the range and all rows are deleted at the
  // timestamp.
  void skip(std::string& key, Timestamp timestamp) const;

 private:
  struct Range {
    std::string from;
    std::string to;  // Not empty.
    Timestamp since = 0;
  };
  struct Write {
    std::string first;
    std::string last;
  };

  Write& place(std::uint64_t number) { return writes_[number % kRecentWritesMax]; }
  void replace(std::unique_ptr<const Range> next);

  std::array<Write, kRecentWritesMax> writes_;  // By number.
  std::vector<std::uint64_t> open_;             // Numbers of pending writes, ascending.
  std::uint64_t next_ = 1;
  std::atomic<std::uint64_t> settled_{1};  // The number of the oldest pending write.
  std::unique_ptr<const Range> owned_;
  std::atomic<const Range*> published_{nullptr};
};

}  // namespace moraine::table
