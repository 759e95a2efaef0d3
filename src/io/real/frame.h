// Frames of the node-to-node TCP protocol.
//
//   frame   := header payload
//   header  := version:u8 kind:u8 magic:u16 length:u32 request:u64 payload_crc:u32 header_crc:u32
//   payload := length bytes, by kind:
//     hello    node:u32 peer:u32 cluster:sized-text    the sender, the node it wants, its cluster
//     request  opaque                                  `request` is chosen by the caller
//     reply    opaque                                  `request` repeats the caller's number
//     refusal  code:u8 reason:text                     `request` was not served
//     close    reason:text                             the sender closes the connection
//
// All integers are little-endian. header_crc is the CRC32C of the header's bytes before it,
// payload_crc that of the payload. magic and version are at the same place in every version; a
// version other than kFrameVersion fails with kUnsupported. hello is the first frame in each
// direction.
//
// Promise    Encoding and decoding are inverse; a decoder returns an Error for any other bytes.
// Limits     kFrameBytesMax for requests and replies, kControlBytesMax for the other kinds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "io/network.h"

namespace moraine {

inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 24;
inline constexpr std::size_t kControlBytesMax = 512;
inline constexpr std::size_t kClusterBytesMax = 64;

enum class FrameKind : std::uint8_t {
  kHello = 1,
  kRequest = 2,
  kReply = 3,
  kRefusal = 4,
  kClose = 5,
};

std::string_view to_string(FrameKind kind);

struct FrameHeader {
  FrameKind kind = FrameKind::kHello;
  std::uint64_t request = 0;
  std::uint32_t length = 0;
  std::uint32_t payload_crc = 0;
  bool operator==(const FrameHeader&) const = default;
};

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

// The header that goes before `payload`. Requires: it is within the limit of its kind.
FrameHeaderBytes encode_frame_header(FrameKind kind, std::uint64_t request, ByteSpan payload);
// kUnsupported: another version. kCorrupt: magic, checksum, kind or length is wrong.
// Requires: bytes.size() == kFrameHeaderBytes.
Result<FrameHeader> decode_frame_header(ByteSpan bytes);
Result<void> check_frame_payload(const FrameHeader& header, ByteSpan payload);

struct Hello {
  NodeId node;
  NodeId peer;
  std::string cluster;  // At most kClusterBytesMax bytes.
  bool operator==(const Hello&) const = default;
};
Slice encode_hello(const Hello& hello);
Result<Hello> decode_hello(ByteSpan payload);

// A reason that is too long is truncated.
Slice encode_refusal(Errc code, std::string_view reason);
// The encoded Error; fails with kCorrupt when the payload cannot be decoded.
Result<Error> decode_refusal(ByteSpan payload);
Slice encode_close(std::string_view reason);

}  // namespace moraine
