// Value: one cell, 16 bytes, that borrows its text.
//
// Promise    compare() is the order of keys: null < int64 < uint64 < double < boolean < string <
//            any; within a type by value, texts by their bytes.
// Limits     A Value never owns memory: its text is valid as long as the string that it was made
//            from. The size of a text of 4 GiB or more is given as 4 GiB - 1: every table rejects
//            it.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace moraine {

// The type of a cell on the wire and on disk; many column types share one (schema.h).
enum class ValueType : std::uint8_t {
  kNull = 0,
  kInt64 = 1,
  kUint64 = 2,
  kDouble = 3,
  kBoolean = 4,
  kString = 5,
  kAny = 6,  // YSON, binary or text.
};
std::string_view to_string(ValueType type);

class Value {
 public:
  constexpr Value() : unsigned_(0) {}
  template <std::signed_integral T>
  constexpr Value(T value) : type_(ValueType::kInt64), signed_(value) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  constexpr Value(T value) : type_(ValueType::kUint64), unsigned_(value) {}
  template <std::same_as<bool> T>
  constexpr Value(T value) : type_(ValueType::kBoolean), unsigned_(value ? 1 : 0) {}
  constexpr Value(double value) : type_(ValueType::kDouble), double_(value) {}
  constexpr Value(std::string_view text)
      : type_(ValueType::kString),
        size_(static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), ~std::uint32_t{0}))),
        text_(text.data()) {}
  constexpr Value(const char* text) : Value(std::string_view(text)) {}
  // Borrows the string. A temporary is refused, since its bytes would be freed with the statement:
  // give it a name, or write std::string_view(...) where it lives long enough.
  constexpr Value(const std::string& text) : Value(std::string_view(text)) {}
  constexpr Value(const std::string&& text) = delete;
  static constexpr Value any(std::string_view yson) {
    Value value(yson);
    value.type_ = ValueType::kAny;
    return value;
  }

  constexpr ValueType type() const { return type_; }
  constexpr bool is_null() const { return type_ == ValueType::kNull; }
  constexpr bool has_text() const {
    return type_ == ValueType::kString || type_ == ValueType::kAny;
  }
  // Each requires its type.
  constexpr std::int64_t as_int64() const { return signed_; }
  constexpr std::uint64_t as_uint64() const { return unsigned_; }
  constexpr double as_double() const { return double_; }
  constexpr bool as_boolean() const { return unsigned_ != 0; }
  // Requires a string or any.
  constexpr std::string_view text() const { return {text_, size_}; }

 private:
  ValueType type_ = ValueType::kNull;
  std::uint32_t size_ = 0;
  union {
    std::int64_t signed_;
    std::uint64_t unsigned_;
    double double_;
    const char* text_;
  };
};
static_assert(sizeof(Value) == 16);

std::strong_ordering compare(const Value& a, const Value& b);
inline bool operator==(const Value& a, const Value& b) {
  return compare(a, b) == 0;
}

}  // namespace moraine
