#include "io/real/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::uint16_t kMagic = 0x726d;  // "mr"
constexpr std::size_t kCheckedBytes = kFrameHeaderBytes - sizeof(std::uint32_t);

bool is_kind(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(FrameKind::kHello) &&
         value <= static_cast<std::uint8_t>(FrameKind::kClose);
}

std::size_t length_max(FrameKind kind) {
  return kind == FrameKind::kRequest || kind == FrameKind::kReply ? kFrameBytesMax
                                                                  : kControlBytesMax;
}

}  // namespace

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::kHello: return "hello";
    case FrameKind::kRequest: return "request";
    case FrameKind::kReply: return "reply";
    case FrameKind::kRefusal: return "refusal";
    case FrameKind::kClose: return "close";
  }
  return "unknown";
}

FrameHeaderBytes encode_frame_header(FrameKind kind, std::uint64_t request, ByteSpan payload) {
  INVARIANT(payload.size() <= length_max(kind), "a {} frame of {} bytes", to_string(kind),
            payload.size());
  FrameHeaderBytes bytes;
  store(bytes.data(), kFrameVersion);
  store(bytes.data() + 1, static_cast<std::uint8_t>(kind));
  store(bytes.data() + 2, kMagic);
  store(bytes.data() + 4, static_cast<std::uint32_t>(payload.size()));
  store(bytes.data() + 8, request);
  store(bytes.data() + 16, crc32c(payload));
  store(bytes.data() + kCheckedBytes, crc32c(ByteSpan(bytes).first(kCheckedBytes)));
  return bytes;
}

Result<FrameHeader> decode_frame_header(ByteSpan bytes) {
  INVARIANT(bytes.size() == kFrameHeaderBytes, "a header of {} bytes", bytes.size());
  Decoder in(bytes);
  const std::uint8_t version = in.u8();
  const std::uint8_t kind = in.u8();
  const std::uint16_t magic = in.u16();
  if (magic != kMagic) {
    return fail(Errc::kCorrupt, "frame: wrong magic, not frames of this protocol");
  }
  if (version != kFrameVersion) {
    return fail(Errc::kUnsupported, fmt::format("frame: version {}, this node supports version {}",
                                                version, kFrameVersion));
  }
  FrameHeader header;
  header.length = in.u32();
  header.request = in.u64();
  header.payload_crc = in.u32();
  if (in.u32() != crc32c(bytes.first(kCheckedBytes))) {
    return fail(Errc::kCorrupt, "frame: header checksum does not match");
  }
  if (!is_kind(kind)) return fail(Errc::kCorrupt, fmt::format("frame: unknown kind {}", kind));
  header.kind = static_cast<FrameKind>(kind);
  if (header.length > length_max(header.kind)) {
    return fail(Errc::kCorrupt,
                fmt::format("frame: a {} has {} bytes, at most {} are allowed",
                            to_string(header.kind), header.length, length_max(header.kind)));
  }
  return header;
}

Result<void> check_frame_payload(const FrameHeader& header, ByteSpan payload) {
  if (payload.size() == header.length && crc32c(payload) == header.payload_crc) return {};
  return fail(Errc::kCorrupt, fmt::format("frame: payload checksum of a {} does not match",
                                          to_string(header.kind)));
}

Slice encode_hello(const Hello& hello) {
  INVARIANT(hello.cluster.size() <= kClusterBytesMax, "cluster name of {} bytes",
            hello.cluster.size());
  return Encoder().u32(hello.node.value).u32(hello.peer.value).sized(hello.cluster).slice();
}

Result<Hello> decode_hello(ByteSpan payload) {
  Decoder in(payload);
  Hello hello;
  hello.node.value = in.u32();
  hello.peer.value = in.u32();
  hello.cluster = as_text(in.sized());
  if (!in.finished() || hello.cluster.size() > kClusterBytesMax) {
    return fail(Errc::kCorrupt, "frame: malformed hello");
  }
  return hello;
}

Slice encode_refusal(Errc code, std::string_view reason) {
  const std::string_view text = reason.substr(0, kControlBytesMax - 1);
  return Encoder().u8(static_cast<std::uint8_t>(code)).raw(as_bytes(text)).slice();
}

Result<Error> decode_refusal(ByteSpan payload) {
  Decoder in(payload);
  const std::uint8_t code = in.u8();
  if (in.failed() || code > static_cast<std::uint8_t>(Errc::kConflict)) {
    return fail(Errc::kCorrupt, "frame: malformed refusal");
  }
  return Error{static_cast<Errc>(code), std::string(as_text(in.raw(in.remaining())))};
}

Slice encode_close(std::string_view reason) {
  return Slice::copy_of(reason.substr(0, kControlBytesMax));
}

}  // namespace moraine
