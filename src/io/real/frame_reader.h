// FrameReader: splits a stream of bytes into frames, without copying large payloads.
//
// Promise    Frames are returned whole, checked and in order, however the stream was split. After
//            an error the reader may only be destroyed.
// Invariants While a payload is incomplete, nothing is read ahead behind it.
// Threading  One thread.
// Limits     kReadAheadBytes of read-ahead plus one payload; payloads above the current limit are
//            an error before memory is allocated for them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "io/real/frame.h"

namespace moraine {

struct Frame {
  FrameKind kind = FrameKind::kHello;
  std::uint64_t request = 0;
  Slice payload;
};

class FrameReader {
 public:
  static constexpr std::size_t kReadAheadBytes = std::size_t{32} << 10;

  explicit FrameReader(std::size_t payload_max)
      : payload_max_(payload_max), ahead_(kReadAheadBytes) {}
  void set_payload_max(std::size_t payload_max) { payload_max_ = payload_max; }

  // Where the next bytes of the stream go: the first span, then the second. Either may be empty,
  // not both. Requires: next() returned no frame.
  std::array<MutableByteSpan, 2> space();
  // `count` bytes were written to space().
  void filled(std::size_t count);
  // The next frame, or nullopt when more bytes are needed.
  Result<std::optional<Frame>> next();

 private:
  Result<bool> take_header();

  std::size_t payload_max_;
  Buffer ahead_;
  std::size_t ahead_begin_ = 0;
  std::size_t ahead_end_ = 0;
  std::optional<FrameHeader> header_;
  Buffer payload_;
  std::size_t payload_filled_ = 0;
};

}  // namespace moraine
