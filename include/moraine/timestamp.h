// Timestamps: unix seconds << 30 | counter, unique and increasing.
#pragma once

#include <cstdint>

namespace moraine {

using Timestamp = std::uint64_t;

inline constexpr Timestamp kNullTimestamp = 0;
inline constexpr Timestamp kMinTimestamp = 1;
inline constexpr Timestamp kMaxTimestamp = 0x3fffffffffffff00;
// Reads the newest committed versions, and waits for rows whose transaction is being committed.
inline constexpr Timestamp kSyncLastCommitted = 0x3fffffffffffff01;
// The same without waiting.
inline constexpr Timestamp kAsyncLastCommitted = 0x3fffffffffffff04;

inline constexpr unsigned kTimestampCounterBits = 30;
constexpr std::uint64_t unix_seconds(Timestamp timestamp) {
  return timestamp >> kTimestampCounterBits;
}
constexpr Timestamp timestamp_of_seconds(std::uint64_t seconds) {
  return seconds << kTimestampCounterBits;
}

}  // namespace moraine
