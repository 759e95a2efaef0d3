// Encoded keys: bytes whose order is the order of the key columns.
//
// clang-format off
//   key    = column*                       one per key column, in order
//   column = 0x00                          null
//          | 0x01 u64 big-endian           int64, sign bit flipped
//          | 0x02 u64 big-endian           uint64
//          | 0x03 u64 big-endian           double: negative ones with all bits flipped, others with
//                                          the sign bit flipped;
//                                          -0.0 as 0.0, every NaN as one that is above all numbers
//          | 0x04 u8                       boolean
//          | 0x05 escaped 0x00 0x00        string: 0x00 inside is written 0x00 0xff
//          | 0x06 escaped 0x00 0x00        any
// clang-format on
//
// Promise    Pure. memcmp of two keys of one schema is the order of their columns; a key of fewer
//            columns is below all keys that begin with it. Wider column types (int8 -> int64, utf8
//            -> string, float -> double) have equal bytes.
// Limits     kKeyBytesMax once encoded.
// Errors     decode_key, check_key: kCorrupt.
// Tests      key_test.cpp, key_fuzz.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "moraine/schema.h"
#include "moraine/value.h"

namespace moraine::table {

inline constexpr std::size_t kKeyBytesMax = std::size_t{256} << 10;

void append_key_column(std::string& key, const Value& value);
std::string encode_key(std::span<const Value> columns);
// Unescapes texts into `memory`, whose earlier contents are dropped; texts without escapes point
// into `key`.
Result<void> decode_key(ByteSpan key, std::vector<Value>& columns, std::string& memory);
// Checks that the bytes are a whole key of the schema: grammar, length, number and types of
// columns.
Result<void> check_key(ByteSpan key, const TableSchema& schema);

inline std::strong_ordering compare_keys(ByteSpan a, ByteSpan b) {
  const std::size_t shared = a.size() < b.size() ? a.size() : b.size();
  const int order = shared == 0 ? 0 : __builtin_memcmp(a.data(), b.data(), shared);
  if (order != 0) return order < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  return a.size() <=> b.size();
}

// Is `last`, extended by any columns that were added to the key later, below `from`?
inline bool ends_below(std::string_view last, std::string_view from) {
  return last < from && !from.starts_with(last);
}

// [from, to); an empty `to`: no bound.
struct KeyBounds {
  std::string from;
  std::string to;
};

}  // namespace moraine::table
