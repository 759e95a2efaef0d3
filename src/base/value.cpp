#include "moraine/value.h"

#include <bit>
#include <cmath>

namespace moraine {
namespace {

// Bits with the order of the numbers: -0.0 equals 0.0, and every NaN is above all numbers.
std::uint64_t ordered_bits(double value) {
  if (std::isnan(value)) return ~std::uint64_t{0};
  if (value == 0) value = 0;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

}  // namespace

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::kNull: return "null";
    case ValueType::kInt64: return "int64";
    case ValueType::kUint64: return "uint64";
    case ValueType::kDouble: return "double";
    case ValueType::kBoolean: return "boolean";
    case ValueType::kString: return "string";
    case ValueType::kAny: return "any";
  }
  return "unknown";
}

std::strong_ordering compare(const Value& a, const Value& b) {
  if (a.type() != b.type()) return a.type() <=> b.type();
  switch (a.type()) {
    case ValueType::kNull: return std::strong_ordering::equal;
    case ValueType::kInt64: return a.as_int64() <=> b.as_int64();
    case ValueType::kUint64: return a.as_uint64() <=> b.as_uint64();
    case ValueType::kDouble: return ordered_bits(a.as_double()) <=> ordered_bits(b.as_double());
    case ValueType::kBoolean: return a.as_boolean() <=> b.as_boolean();
    case ValueType::kString:
    case ValueType::kAny: return a.text() <=> b.text();
  }
  return std::strong_ordering::equal;
}

}  // namespace moraine
