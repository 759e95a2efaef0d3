#include "io/real/frame_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/invariant.h"

namespace moraine {

std::array<MutableByteSpan, 2> FrameReader::space() {
  if (ahead_begin_ > 0) {
    std::memmove(ahead_.data(), ahead_.data() + ahead_begin_, ahead_end_ - ahead_begin_);
    ahead_end_ -= ahead_begin_;
    ahead_begin_ = 0;
  }
  const MutableByteSpan rest =
      header_ ? payload_.span().subspan(payload_filled_) : MutableByteSpan();
  return {rest, ahead_.span().subspan(ahead_end_)};
}

void FrameReader::filled(std::size_t count) {
  if (header_) {
    const std::size_t taken = std::min(count, payload_.size() - payload_filled_);
    payload_filled_ += taken;
    count -= taken;
  }
  ahead_end_ += count;
  INVARIANT(ahead_end_ <= ahead_.size(), "read {} bytes past the space given", ahead_end_);
}

Result<std::optional<Frame>> FrameReader::next() {
  if (!header_) {
    TRY(const bool complete, take_header());
    if (!complete) return std::nullopt;
  }
  const std::size_t wanted = payload_.size() - payload_filled_;
  const std::size_t taken = std::min(wanted, ahead_end_ - ahead_begin_);
  if (taken > 0) {
    std::memcpy(payload_.data() + payload_filled_, ahead_.data() + ahead_begin_, taken);
    payload_filled_ += taken;
    ahead_begin_ += taken;
  }
  if (payload_filled_ < payload_.size()) return std::nullopt;
  const FrameHeader header = *std::exchange(header_, std::nullopt);
  Frame frame{header.kind, header.request, std::exchange(payload_, Buffer()).freeze()};
  TRY_VOID(check_frame_payload(header, frame.payload));
  return frame;
}

Result<bool> FrameReader::take_header() {
  if (ahead_end_ - ahead_begin_ < kFrameHeaderBytes) return false;
  const ByteSpan bytes = ahead_.span().subspan(ahead_begin_, kFrameHeaderBytes);
  TRY(const FrameHeader header, decode_frame_header(bytes));
  if (header.length > payload_max_) {
    return fail(Errc::kCorrupt, fmt::format("frame: {} bytes, at most {} are allowed now",
                                            header.length, payload_max_));
  }
  ahead_begin_ += kFrameHeaderBytes;
  header_ = header;
  payload_ = Buffer(header.length);
  payload_filled_ = 0;
  return true;
}

}  // namespace moraine
