// GoneRange: a range of keys in which every row is known to be deleted, so that scans need not step
// over one deleted row after the other (a table used as a queue).
//
// A scan at sync_last_committed that met many deleted rows before its first visible one tells so.
// The range holds until somebody writes into it. Whoever scans as of a time before the last of
// those deletes does not use it.
//
// Promise    Between `from` and `to` no row is visible at `since` or later, as long as the range is
//            published. It is withdrawn before the first mark of a write into it is set, so a
//            reader that must see that write finds it withdrawn.
// Threading  begin_write(), end_write(), learn(), forget(): the tablet's executor. ticket() and
//            skip(): any thread.
// Limits     One range; the last kWritesRemembered writes.
// Tests      gone_range_test.cpp, tablet_scan_gone_test.cpp.
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

inline constexpr std::size_t kWritesRemembered = 256;
// Deleted rows in a row that are worth remembering.
inline constexpr std::size_t kGoneRowsMin = 64;

class GoneRange {
 public:
  GoneRange() = default;
  GoneRange(const GoneRange&) = delete;
  GoneRange& operator=(const GoneRange&) = delete;
  ~GoneRange();

  // Rows between these keys, both included, are about to be written; before any mark is set. Gives
  // the number for end_write(), which is called when versions are there or will never be.
  std::uint64_t begin_write(std::string_view first, std::string_view last);
  void end_write(std::uint64_t number);

  // Taken before a scan looks at the stores: every write below it has ended.
  std::uint64_t ticket() const { return settled_.load(std::memory_order_acquire); }
  // All rows at or above `from` and below `to` were deleted, the last of them at `since`, and had
  // no later write that ended before the ticket was taken. Ignored when a write came in between.
  void learn(std::uint64_t ticket, std::string from, std::string to, Timestamp since);
  void forget();

  // Moves the key to the range's end if it lies within and all is gone at the timestamp.
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

  Write& place(std::uint64_t number) { return writes_[number % kWritesRemembered]; }
  void publish(std::unique_ptr<const Range> next);

  std::array<Write, kWritesRemembered> writes_;  // By number.
  std::vector<std::uint64_t> open_;  // Numbers of writes that have not ended; ascending.
  std::uint64_t next_ = 1;
  std::atomic<std::uint64_t> settled_{1};  // The oldest write that has not ended.
  std::unique_ptr<const Range> owned_;
  std::atomic<const Range*> published_{nullptr};
};

}  // namespace moraine::table
