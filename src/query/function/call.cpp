#include "query/function/call.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "expression/farm_hash.h"
#include "query/function/any_order.h"

namespace moraine::query {
namespace {

using F = Function;

Result<Value> to_int64(const Value& value) {
  if (value.type() == ValueType::kInt64) return value;
  if (value.type() == ValueType::kUint64) return static_cast<std::int64_t>(value.as_uint64());
  const double number = value.as_double();
  if (!(number >= -0x1p63 && number < 0x1p63)) {
    return fail(Errc::kInvalidArgument, "double is out of the range of int64");
  }
  return static_cast<std::int64_t>(number);
}

Result<Value> to_uint64(const Value& value) {
  if (value.type() == ValueType::kUint64) return value;
  if (value.type() == ValueType::kInt64) return static_cast<std::uint64_t>(value.as_int64());
  const double number = value.as_double();
  if (!(number > -1 && number < 0x1p64)) {
    return fail(Errc::kInvalidArgument, "double is out of the range of uint64");
  }
  return static_cast<std::uint64_t>(number);
}

Value to_double(const Value& value) {
  if (value.type() == ValueType::kInt64) return static_cast<double>(value.as_int64());
  if (value.type() == ValueType::kUint64) return static_cast<double>(value.as_uint64());
  return value;
}

std::string number_text(const Value& value) {
  if (value.type() == ValueType::kInt64) return fmt::format("{}", value.as_int64());
  if (value.type() == ValueType::kUint64) return fmt::format("{}", value.as_uint64());
  return fmt::format("{}", value.as_double());
}

template <class T>
Result<Value> parse_number(std::string_view text, std::string_view type) {
  T number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end) {
    return fail(Errc::kInvalidArgument, fmt::format("Cannot parse a value of type {}", type));
  }
  return Value(number);
}

// Four numbers of 32 bits, the highest one last.
std::string guid_text(std::uint64_t high, std::uint64_t low) {
  constexpr std::uint64_t kHalf = 0xffff'ffff;
  return fmt::format("{:x}-{:x}-{:x}-{:x}", low >> 32, low & kHalf, high >> 32, high & kHalf);
}

Result<Value> to_boolean(const Value& value) {
  switch (value.type()) {
    case ValueType::kBoolean: return value;
    case ValueType::kInt64: return value.as_int64() != 0;
    case ValueType::kUint64: return value.as_uint64() != 0;
    default: break;
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("Cannot convert a value of type {} to boolean", to_string(value.type())));
}

// int64, uint64, double or boolean of a value of any type.
Result<Value> cast(Function function, const Value& from, table::TextMemory& memory) {
  Value value = from;
  if (from.type() == ValueType::kAny) {
    const std::string_view wanted = info_of(function).name;
    TRY(value, scalar_of_any(from, wanted, memory));
    const bool number = value.type() >= ValueType::kInt64 && value.type() <= ValueType::kDouble;
    if (number != (function != F::kBoolean)) {
      return fail(Errc::kInvalidArgument, fmt::format("Cannot convert a value of type {} to {}",
                                                      to_string(value.type()), wanted));
    }
  }
  switch (function) {
    case F::kInt64: return to_int64(value);
    case F::kUint64: return to_uint64(value);
    case F::kDouble: return to_double(value);
    default: return to_boolean(value);
  }
}

Result<Value> greatest(std::span<const Value> arguments) {
  Value best = arguments[0];
  for (const Value& value : arguments) {
    if (value.type() == ValueType::kAny) {
      TRY(const std::strong_ordering order, compare_any(value, best));
      if (order > 0) best = value;
      continue;
    }
    if (value.type() == ValueType::kDouble && std::isnan(value.as_double())) {
      return fail(Errc::kInvalidArgument, "Comparison with NaN");
    }
    if (compare(value, best) > 0) best = value;
  }
  return best;
}

}  // namespace

Result<Value> call_function(Function function, std::span<const Value> arguments,
                            table::TextMemory& memory) {
  const Value first = arguments.empty() ? Value() : arguments[0];
  switch (function) {
    case F::kIsNull: return first.is_null();
    case F::kIsNan: return std::isnan(first.as_double());
    case F::kIsFinite: return std::isfinite(first.as_double());
    case F::kIsInf: return std::isinf(first.as_double());
    case F::kGreatest: return greatest(arguments);
    case F::kFarmHash: return farm_hash(arguments);
    case F::kInt64:
    case F::kUint64:
    case F::kDouble:
    case F::kBoolean: return cast(function, first, memory);
    case F::kNumericToString: return memory.keep(number_text(first));
    case F::kParseInt64: return parse_number<std::int64_t>(first.text(), "int64");
    case F::kParseUint64: return parse_number<std::uint64_t>(first.text(), "uint64");
    case F::kParseDouble: return parse_number<double>(first.text(), "double");
    case F::kFloorHour:
    case F::kFloorDay:
    case F::kFloorWeek:
    case F::kFloorMonth:
    case F::kFloorQuarter:
    case F::kFloorYear: return floor_time(function, first.as_int64());
    case F::kFormatTimestamp: return format_time(first.as_int64(), arguments[1].text(), memory);
    case F::kFloorHourTz:
    case F::kFloorDayTz:
    case F::kFloorWeekTz:
    case F::kFloorMonthTz:
    case F::kFloorQuarterTz:
    case F::kFloorYearTz:
      return floor_time_in_zone(function, first.as_int64(), arguments[1].text());
    case F::kFormatTimestampTz:
      return format_time_in_zone(first.as_int64(), arguments[1].text(), arguments[2].text(),
                                 memory);
    case F::kFormatGuid: return memory.keep(guid_text(first.as_uint64(), arguments[1].as_uint64()));
    case F::kMakeNgrams: return make_ngrams(first.text(), arguments[1].as_int64(), memory);
    case F::kIf:
    case F::kIfNull:
    case F::kCoalesce:
    case F::kUnsupported: return fail(Errc::kUnsupported, "the function is not supported yet");
    default: break;
  }
  if (function >= F::kRegexFullMatch && function <= F::kRegexEscape) {
    return call_regex_function(function, arguments, memory);
  }
  if (function >= F::kLower && function <= F::kToValidUtf8) {
    return call_text_function(function, arguments, memory);
  }
  if (function >= F::kToAny && function <= F::kDictItem) {
    return call_any_function(function, arguments, memory);
  }
  return call_number_function(function, arguments);
}

}  // namespace moraine::query
