// The codecs of record batches, on whole payloads.
//
// Promise    decompress() returns the input of any client's compress(), or an error; it never holds
//            more than about twice `size_max` bytes, whatever the input claims.
// Formats    gzip with any number of members; snappy as one raw block or as a xerial stream (magic,
//            two i32 versions, then i32 size and raw block, repeated); lz4 frames; zstd frames.
//            compress() writes snappy as a xerial stream and lz4 with independent blocks, which are
//            the forms that every client reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

enum class Compression : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };
inline constexpr int kCompressionLast = 4;

std::string_view to_string(Compression codec);

// Errors: kCorruptMessage, or kMessageTooLarge when there is more than size_max.
Checked<Slice> decompress(Compression codec, const Slice& packed, std::size_t size_max);

// `level`: on the codec's own scale; nullopt: its default. Snappy has none.
Slice compress(Compression codec, ByteSpan plain, std::optional<int> level = std::nullopt);

}  // namespace moraine::kafka
