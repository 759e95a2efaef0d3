// FrameInput: the requests of a stream, one frame at a time.
//
// Promise    Frames are returned whole, however their bytes arrive. While it waits for one to begin
//            it holds no memory; a long frame gets memory in steps, as its bytes arrive, each step
//            reserved in the budget before. After a long frame the bytes of the next long one are
//            received where they stay; of other frames what was read ahead is copied once.
// Threading  The executor.
// Limits     kRequestBytesMax a frame; kInputBufferBytes read ahead. A frame that has begun holds a
//            block of up to kFrameBlockBytesMax. Fresh blocks take memory as they are filled, which
//            the lease counts; a block that BlockPool had idle has its memory already, and what is
//            not filled of it is not counted. Per connection that is kFrameBlockBytesMax at most;
//            in all, no more than frames which were received whole have freed, of which the pool
//            keeps kIdleBlockBytesMax at a time. A frame without progress for kStalledFrameTimeout
//            ends its connection.
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

inline constexpr std::size_t kInputBufferBytes = std::size_t{16} << 10;
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
  Task<Result<RequestFrame>> body(std::size_t size);
  // Reads more of what the client sends into the buffer; false at the end.
  Task<Result<bool>> fill_buffer(bool inside);
  // Reads at least one byte; 0 at the end.
  Task<Result<std::size_t>> receive(MutableByteSpan into, bool inside);
  std::size_t take(MutableByteSpan into);
  std::size_t ahead() const { return buffer_end_ - buffer_begin_; }

  ByteStream& stream_;
  ByteBudget& budget_;
  Watchdog& watchdog_;
  Buffer buffer_;  // Empty unless bytes were read ahead.
  std::size_t buffer_begin_ = 0;
  std::size_t buffer_end_ = 0;
  bool after_long_ = false;  // The last frame was longer than the buffer.
};

}  // namespace moraine::kafka
