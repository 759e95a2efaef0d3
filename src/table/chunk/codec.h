// Compression of blocks.
//
// Promise    decompress(compress(x)) is x. decompress never writes past the given size.
// Limits     kCodecBytesMax per call.
// Errors     kCorrupt; kUnsupported: an unknown codec.
// Threading  Any thread.
// Tests      codec_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::table {

inline constexpr std::size_t kCodecBytesMax = std::size_t{1} << 30;

enum class CodecKind : std::uint8_t {
  kNone = 0,
  kLz4 = 1,
  kLz4High = 2,
  kZstd = 3,
  kZlib = 4,
  kSnappy = 5
};

struct Codec {
  CodecKind kind = CodecKind::kLz4;
  std::uint8_t level = 0;  // For zstd (1-21) and zlib (1-9).
  bool operator==(const Codec&) const = default;
};
// "none", "lz4", "lz4_high_compression", "zstd_1".."zstd_21", "zlib_1".."zlib_9", "snappy".
std::optional<Codec> parse_codec(std::string_view name);
std::string to_string(Codec codec);

Slice compress(Codec codec, ByteSpan bytes);
Result<Slice> decompress(CodecKind kind, ByteSpan bytes, std::size_t size);
// Fills `out` exactly.
Result<void> decompress_into(CodecKind kind, ByteSpan bytes, MutableByteSpan out);

}  // namespace moraine::table
