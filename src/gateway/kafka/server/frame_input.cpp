#include "gateway/kafka/server/frame_input.h"

#include <algorithm>
#include <cstring>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/server/options.h"

namespace moraine::kafka {
namespace {

constexpr std::string_view kStalled = "a request makes no progress";

// A view of so small a part would hold much memory.
constexpr std::size_t kViewedPartMin = 4;

}  // namespace

void FrameInput::release_read(std::size_t size) {
  buffer_begin_ += size;
  if (ahead() > 0) return;
  buffer_ = Buffer();
  buffer_begin_ = buffer_end_ = 0;
}

std::size_t FrameInput::take(MutableByteSpan into) {
  const std::size_t size = std::min(into.size(), ahead());
  if (size > 0) std::memcpy(into.data(), buffer_.data() + buffer_begin_, size);
  release_read(size);
  return size;
}

Task<Result<std::size_t>> FrameInput::receive(MutableByteSpan into, bool inside) {
  watchdog_.reading(inside ? kStalledFrameTimeout : kIdleTimeout, inside ? kStalled : kIdleReason);
  Result<std::size_t> read = co_await stream_.read(into);
  watchdog_.not_reading();
  co_return read;
}

Task<Result<bool>> FrameInput::receive_ahead(bool inside) {
  const MutableByteSpan room = buffer_.span().subspan(buffer_end_);
  const Result<std::size_t> read = co_await receive(room, inside);
  if (!read || *read == 0) release_read(ahead());
  if (!read) co_return std::unexpected(read.error());
  buffer_end_ += *read;
  if (*read == room.size()) {
    buffer_bytes_ = std::min(buffer_bytes_ * 2, kInputBufferBytesMax);
  } else if (buffer_end_ < buffer_bytes_ / kViewedPartMin) {
    buffer_bytes_ = std::max(buffer_bytes_ / 2, kInputBufferBytesMin);
  }
  co_return *read > 0;
}

Task<Result<std::optional<std::size_t>>> FrameInput::next_size() {
  std::array<std::byte, kSizePrefixBytes> prefix;
  for (std::size_t have = 0; have < prefix.size();) {
    const MutableByteSpan missing = MutableByteSpan(prefix).subspan(have);
    if (ahead() > 0) {
      have += take(missing);
      continue;
    }
    std::size_t arrived = 0;
    if (after_long_) {
      // Nothing is read ahead: it would have to be copied.
      CO_TRY(arrived, co_await receive(missing, have > 0));
      have += arrived;
    } else {
      watchdog_.reading(have > 0 ? kStalledFrameTimeout : kIdleTimeout,
                        have > 0 ? kStalled : kIdleReason);
      CO_TRY_VOID(co_await stream_.readable());
      buffer_ = Buffer(buffer_bytes_);
      CO_TRY(const bool more, co_await receive_ahead(have > 0));
      arrived = more ? ahead() : 0;
    }
    if (arrived == 0 && have == 0) co_return std::optional<std::size_t>();
    if (arrived == 0) co_return fail(Errc::kUnavailable, "the stream ended inside a size");
  }
  CO_TRY(const std::size_t size, request_size(prefix));
  after_long_ = size > kShortFrameBytesMax;
  co_return std::optional(size);
}

Task<Result<RequestFrame>> FrameInput::short_frame(std::size_t size) {
  RequestFrame frame;
  co_await budget_.grow(frame.lease, size);
  if (size > buffer_.size() - buffer_begin_) {
    Buffer next(std::max(size, buffer_bytes_));
    const std::size_t moved = take(next.span());
    buffer_ = std::move(next);
    buffer_begin_ = 0;
    buffer_end_ = moved;
  }
  while (ahead() < size) {
    CO_TRY(const bool more, co_await receive_ahead(true));
    if (!more) co_return fail(Errc::kUnavailable, "the stream ended inside a request");
  }
  const auto api = static_cast<ApiKey>(load_big<std::int16_t>(buffer_.data() + buffer_begin_));
  const bool dense =
      buffer_.size() <= kInputBufferBytesMin || buffer_end_ >= buffer_.size() / kViewedPartMin;
  frame.bytes = buffer_.view(buffer_begin_, size);
  if (api != ApiKey::kProduce || !dense) frame.bytes = Slice::copy_of(frame.bytes);
  release_read(size);
  co_return frame;
}

Task<Result<RequestFrame>> FrameInput::long_frame(std::size_t size) {
  RequestFrame frame;
  Buffer bytes;
  std::size_t room = 0;  // Reserved.
  std::size_t have = 0;
  while (have < size) {
    if (have == room) {
      const std::size_t next = std::min(size, std::max(kFrameStepBytes, room * kFrameStepFactor));
      co_await budget_.grow(frame.lease, next - room);
      room = next;
    }
    if (room > bytes.size()) {
      Buffer longer(std::max(room, std::min(size, kFrameBlockBytesMax)));
      if (have > 0) std::memcpy(longer.data(), bytes.data(), have);
      bytes = std::move(longer);
    }
    const MutableByteSpan missing = bytes.span().subspan(have, room - have);
    if (ahead() > 0) {
      have += take(missing);
      continue;
    }
    CO_TRY(const std::size_t read, co_await receive(missing, true));
    if (read == 0) co_return fail(Errc::kUnavailable, "the stream ended inside a request");
    have += read;
  }
  frame.bytes = std::move(bytes).freeze();
  co_return frame;
}

Task<Result<std::optional<RequestFrame>>> FrameInput::next() {
  CO_TRY(const std::optional<std::size_t> size, co_await next_size());
  if (!size) co_return std::optional<RequestFrame>();
  Result<RequestFrame> frame =
      co_await (*size > kShortFrameBytesMax ? long_frame(*size) : short_frame(*size));
  if (!frame) co_return std::unexpected(std::move(frame).error());
  co_return std::optional(std::move(*frame));
}

}  // namespace moraine::kafka
