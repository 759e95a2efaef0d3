// Compression of blocks.
//
// Promise    decompress(compress(x)) is x. decompress never writes past the given size.
// Limits     kCodecBytesMax per call.
// Errors     kCorrupt; kUnsupported: an unknown codec.
// Threading  Any thread.
// Tests      codec_test.cpp, codec_fuzz.cpp.
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
  kSnappy = 5,
  kBrotli = 6,
  kLzma = 7,
  kBzip2 = 8,
};

struct Codec {
  CodecKind kind = CodecKind::kLz4;
  std::uint8_t level = 0;  // Of those whose name has one.
  bool operator==(const Codec&) const = default;
};
// "none", "lz4", "lz4_high_compression", "zstd_1".."zstd_21", "zlib_1".."zlib_9", "snappy",
// "brotli_1".."brotli_11", "lzma_0".."lzma_9", "bzip2_1".."bzip2_9".
std::optional<Codec> parse_codec(std::string_view name);
std::string to_string(Codec codec);

Slice compress(Codec codec, ByteSpan bytes);
Result<Slice> decompress(CodecKind kind, ByteSpan bytes, std::size_t size);
// Fills `out` exactly.
Result<void> decompress_into(CodecKind kind, ByteSpan bytes, MutableByteSpan out);

}  // namespace moraine::table
