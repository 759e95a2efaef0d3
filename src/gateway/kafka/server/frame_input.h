// FrameInput: the requests of a stream, one frame at a time.
//
// Promise    Frames are returned whole, however their bytes arrive. While it waits for one to begin
//            it holds no memory; a long frame gets memory in steps, as its bytes arrive, each step
//            reserved in the budget before. After a long frame the bytes of the next long one are
//            received where they stay. A short frame of a Produce is a view of what was read ahead,
//            unless that fills only a small part of its buffer; other short ones are copies, since
//            they may wait for long and would hold the buffer.
// Threading  The executor.
// Limits     kRequestBytesMax a frame; kInputBufferBytesMax read ahead. A view holds at most four
//            times what was read with it, or kInputBufferBytesMin. A long frame that has begun
//            holds a block of up to kFrameBlockBytesMax. Fresh blocks take memory as they are
//            filled, which the lease counts; a block that BlockPool had idle has its memory
//            already, and what is not filled of it is not counted: in all, no more than frames
//            which were received whole have freed, of which the pool keeps kIdleBlockBytesMax at a
//            time. A frame without progress for kStalledFrameTimeout ends its connection.
// Errors     kCorrupt: an invalid size. kUnavailable: the stream ended inside a frame.
// Tests      connection_test.cpp, kafka_connection_fuzz.cpp
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/kafka/protocol/frame.h"
#include "gateway/kafka/server/budget.h"
#include "io/stream.h"
#include "io/watchdog.h"

namespace moraine::kafka {

// What is read ahead: more while reads fill it, less while they do not.
inline constexpr std::size_t kInputBufferBytesMin = std::size_t{4} << 10;
inline constexpr std::size_t kInputBufferBytesMax = std::size_t{32} << 10;
// Longer frames get memory of their own.
inline constexpr std::size_t kShortFrameBytesMax = std::size_t{16} << 10;
static_assert(kShortFrameBytesMax <= kInputBufferBytesMax);
// The first step of a long frame, and how much longer each next one is.
inline constexpr std::size_t kFrameStepBytes = std::size_t{64} << 10;
inline constexpr std::size_t kFrameStepFactor = 4;
// Up to this size a frame gets one block, which takes memory as it is filled; a longer one grows
// by copying.
inline constexpr std::size_t kFrameBlockBytesMax = std::size_t{16} << 20;

// The reason of the watchdog between frames.
inline constexpr std::string_view kIdleReason = "idle";

struct RequestFrame {
  Slice bytes;              // What follows the size.
  ByteBudget::Lease lease;  // Its memory.
};

class FrameInput {
 public:
  FrameInput(ByteStream& stream, ByteBudget& budget, Watchdog& watchdog)
      : stream_(stream), budget_(budget), watchdog_(watchdog) {}

  // nullopt: the stream ended between two frames.
  Task<Result<std::optional<RequestFrame>>> next();

 private:
  // The size of the next frame; nullopt at the end.
  Task<Result<std::optional<std::size_t>>> next_size();
  Task<Result<RequestFrame>> short_frame(std::size_t size);
  Task<Result<RequestFrame>> long_frame(std::size_t size);
  // Reads at least one byte; 0 at the end.
  Task<Result<std::size_t>> receive(MutableByteSpan into, bool inside);
  // Reads more into the rest of the buffer; false at the end.
  Task<Result<bool>> receive_ahead(bool inside);
  std::size_t take(MutableByteSpan into);
  void release_read(std::size_t size);
  std::size_t ahead() const { return buffer_end_ - buffer_begin_; }

  ByteStream& stream_;
  ByteBudget& budget_;
  Watchdog& watchdog_;
  Buffer buffer_;  // Empty unless bytes were read ahead.
  std::size_t buffer_begin_ = 0;
  std::size_t buffer_end_ = 0;
  std::size_t buffer_bytes_ = kInputBufferBytesMin;  // Of the next buffer.
  bool after_long_ = false;                          // The last frame was a long one.
};

}  // namespace moraine::kafka
