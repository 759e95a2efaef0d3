#include "gateway/kafka/server/frame_input.h"

#include <algorithm>
#include <cstring>

#include "gateway/kafka/server/options.h"

namespace moraine::kafka {
namespace {

constexpr std::string_view kStalled = "a request makes no progress";

}  // namespace

std::size_t FrameInput::take(MutableByteSpan into) {
  const std::size_t size = std::min(into.size(), ahead());
  if (size > 0) std::memcpy(into.data(), buffer_.data() + buffer_begin_, size);
  buffer_begin_ += size;
  if (ahead() == 0) {
    buffer_ = Buffer();
    buffer_begin_ = buffer_end_ = 0;
  }
  return size;
}

Task<Result<bool>> FrameInput::fill_buffer(bool inside) {
  watchdog_.reading(inside ? kStalledFrameTimeout : kIdleTimeout, inside ? kStalled : kIdleReason);
  CO_TRY_VOID(co_await stream_.readable());
  buffer_ = Buffer(kInputBufferBytes);
  buffer_begin_ = buffer_end_ = 0;
  const Result<std::size_t> read = co_await stream_.read(buffer_.span());
  watchdog_.not_reading();
  if (!read || *read == 0) {
    buffer_ = Buffer();
    if (!read) co_return std::unexpected(read.error());
    co_return false;
  }
  buffer_end_ = *read;
  co_return true;
}

Task<Result<std::size_t>> FrameInput::receive(MutableByteSpan into, bool inside) {
  watchdog_.reading(inside ? kStalledFrameTimeout : kIdleTimeout, inside ? kStalled : kIdleReason);
  Result<std::size_t> read = co_await stream_.read(into);
  watchdog_.not_reading();
  co_return read;
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
      CO_TRY(const bool more, co_await fill_buffer(have > 0));
      arrived = more ? ahead() : 0;
    }
    if (arrived == 0 && have == 0) co_return std::optional<std::size_t>();
    if (arrived == 0) co_return fail(Errc::kUnavailable, "the stream ended inside a size");
  }
  CO_TRY(const std::size_t size, request_size(prefix));
  after_long_ = size > kInputBufferBytes;
  co_return std::optional(size);
}

Task<Result<RequestFrame>> FrameInput::body(std::size_t size) {
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
  CO_TRY(RequestFrame frame, co_await body(*size));
  co_return std::optional(std::move(frame));
}

}  // namespace moraine::kafka
