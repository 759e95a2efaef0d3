// RowWriter: rows of an answer, in the format that the client wants.
//
// Promise    Rows are sent in parts; a part waits until the client has room.
// Errors     kInvalidArgument: the format cannot hold a value.
// Limits     kRowsPartBytes of a part, and one row more.
// Threading  One thread at a time.
// Tests      rows_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gateway/yt/call.h"
#include "moraine/value.h"

namespace moraine::yt {

inline constexpr std::size_t kRowsPartBytes = std::size_t{64} << 10;

class RowWriter {
 public:
  explicit RowWriter(Output& output) : output_(output) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Call first.
  YtResult<void> open(const DataFormat& format);

  // After a failed call, finish() returns the error; the others do nothing.
  void begin_row() { on(YsonEvent::of(YsonEvent::Kind::kBeginMap)); }
  void cell(std::string_view name, const Value& value);
  void end_row() { on(YsonEvent::of(YsonEvent::Kind::kEndMap)); }
  void missing_row() { on(YsonEvent::of(YsonEvent::Kind::kEntity)); }
  void on(const YsonEvent& event);
  // A value that should be written cannot be read.
  void fail(Error error);
  void value(const Value& value);

  // Of all rows so far.
  std::size_t bytes() const { return sent_bytes_ + buffer_.size(); }
  bool is_full() const { return buffer_.size() >= kRowsPartBytes || failed_; }
  // Between rows.
  Task<YtResult<void>> flush();

 private:
  Output& output_;
  std::string buffer_;
  std::size_t sent_bytes_ = 0;
  std::unique_ptr<YsonSink> sink_;
  bool skips_nulls_ = false;
  bool failed_ = false;
  Error error_;
};

}  // namespace moraine::yt
