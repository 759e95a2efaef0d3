// The 64 bits of a number or a boolean.
#pragma once

#include <bit>
#include <cstdint>

#include "moraine/value.h"

namespace moraine::table {

// 0 for other types.
inline std::uint64_t word_of(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: return static_cast<std::uint64_t>(value.as_int64());
    case ValueType::kUint64: return value.as_uint64();
    case ValueType::kDouble: return std::bit_cast<std::uint64_t>(value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? 1 : 0;
    case ValueType::kNull:
    case ValueType::kString:
    case ValueType::kAny: break;
  }
  return 0;
}

}  // namespace moraine::table
