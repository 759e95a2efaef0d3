// Layout constants shared by the builder and the readers of row blocks.
#pragma once

#include <cstdint>

#include "table/chunk/varint.h"
#include "table/model/timestamp.h"

namespace moraine::table {

inline constexpr std::uint8_t kRowBlockVersion = 1;
enum RowBlockFlags : std::uint8_t { kBlockOneKeySize = 1, kBlockOneKind = 2 };
inline constexpr std::size_t kNarrowBlockBytesMax = std::size_t{64} << 10;
// Readable bytes after the last row, since whole words are read.
inline constexpr std::size_t kBlockPadding = 2 * kBitsPadding;

// The byte of a hash that blocks store; filters use other bits.
inline std::uint64_t hash_mark(std::uint64_t hash) {
  return hash >> 56;
}

// Seconds and counters of timestamps are packed separately: each of them varies little.
struct TimeParts {
  std::uint64_t seconds = 0;
  std::uint64_t counter = 0;
};
inline TimeParts time_parts(Timestamp timestamp) {
  return {.seconds = unix_seconds(timestamp),
          .counter = timestamp & ((Timestamp{1} << kTimestampCounterBits) - 1)};
}
inline Timestamp make_time(TimeParts parts) {
  return (parts.seconds << kTimestampCounterBits) + parts.counter;
}

}  // namespace moraine::table
