#include "table/model/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "table/model/aggregate.h"
#include "table/model/composite.h"
#include "table/model/limits.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

constexpr std::size_t kUuidBytes = 16;
constexpr std::uint64_t kDateEnd = 49'673;  // Days.
constexpr std::uint64_t kDatetimeEnd = kDateEnd * 86'400;
constexpr std::uint64_t kTimestampEnd = kDatetimeEnd * 1'000'000;

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}
std::unexpected<Error> refuse(const ColumnSchema& column, std::string_view why) {
  return fail(Errc::kInvalidArgument, fmt::format("Column \"{}\": {}", column.name, why));
}
// kUnsupported: for those that name a column.
std::unexpected<Error> wrong_type(ColumnType type, const Value& value) {
  return fail(Errc::kUnsupported, fmt::format("expected \"{}\", actual \"{}\"", to_string(type),
                                              to_string(value.type())));
}

struct SignedRange {
  std::int64_t min;
  std::int64_t max;
};
SignedRange signed_range(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8: return {-0x80, 0x7f};
    case ColumnType::kInt16: return {-0x8000, 0x7fff};
    case ColumnType::kInt32: return {-0x8000'0000LL, 0x7fff'ffff};
    case ColumnType::kInterval:
      return {1 - static_cast<std::int64_t>(kTimestampEnd),
              static_cast<std::int64_t>(kTimestampEnd) - 1};
    case ColumnType::kDate32: return {-53'375'809, 53'375'807};
    case ColumnType::kDatetime64: return {-4'611'669'897'600, 4'611'669'811'199};
    case ColumnType::kTimestamp64: return {-4'611'669'897'600'000'000, 4'611'669'811'199'999'999};
    case ColumnType::kInterval64: return {-9'223'339'708'799'999'999, 9'223'339'708'799'999'999};
    default: break;
  }
  return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
}
std::uint64_t unsigned_max(ColumnType type) {
  switch (type) {
    case ColumnType::kUint8: return 0xff;
    case ColumnType::kUint16: return 0xffff;
    case ColumnType::kUint32: return 0xffff'ffff;
    case ColumnType::kDate: return kDateEnd - 1;
    case ColumnType::kDatetime: return kDatetimeEnd - 1;
    case ColumnType::kTimestamp: return kTimestampEnd - 1;
    default: return ~std::uint64_t{0};
  }
}

template <class T>
Result<Value> parse(ColumnType type, std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || stop != end || text.empty()) {
    return refuse(fmt::format("\"{}\" is not of type {}", text.substr(0, 40), to_string(type)));
  }
  return number;
}

Result<Value> from_string(ColumnType type, const Value& value) {
  switch (physical_type(type)) {
    case ValueType::kInt64: return parse<std::int64_t>(type, value.text());
    case ValueType::kUint64: return parse<std::uint64_t>(type, value.text());
    case ValueType::kDouble: return parse<double>(type, value.text());
    case ValueType::kBoolean:
      if (value.text() == "true") return true;
      if (value.text() == "false") return false;
      return refuse("is neither \"true\" nor \"false\"");
    default: return wrong_type(type, value);
  }
}

std::string as_text(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: return std::to_string(value.as_int64());
    case ValueType::kUint64: return std::to_string(value.as_uint64());
    case ValueType::kDouble: return fmt::format("{}", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    default: return std::string(value.text());
  }
}

// From an integer. 2^63 and 2^64 as doubles are outside the integer type they are compared in.
Result<Value> exact_double(ColumnType type, const Value& value) {
  constexpr double kSignedEnd = 0x1p63;
  constexpr double kUnsignedEnd = 0x1p64;
  bool exact = false;
  double number = 0;
  if (value.type() == ValueType::kInt64) {
    number = static_cast<double>(value.as_int64());
    exact = number < kSignedEnd && static_cast<std::int64_t>(number) == value.as_int64();
  } else {
    number = static_cast<double>(value.as_uint64());
    exact = number < kUnsignedEnd && static_cast<std::uint64_t>(number) == value.as_uint64();
  }
  if (exact) return number;
  return refuse(fmt::format("{} has no exact value of type {}; round it first", as_text(value),
                            to_string(type)));
}

// To the physical type of the column. Requires: neither null nor a column of type any.
Result<Value> convert(ColumnType type, const Value& value, const ValueRules& rules,
                      TextMemory& memory) {
  const ValueType from = value.type();
  const ValueType to = physical_type(type);
  if (from == to) return value;
  if (rules.integral_to_integral && from == ValueType::kInt64 && to == ValueType::kUint64) {
    if (value.as_int64() < 0) return refuse("a negative value is out of range");
    return static_cast<std::uint64_t>(value.as_int64());
  }
  if (rules.integral_to_integral && from == ValueType::kUint64 && to == ValueType::kInt64) {
    if (value.as_uint64() >> 63 != 0) return refuse("value is out of range");
    return static_cast<std::int64_t>(value.as_uint64());
  }
  const bool integral = from == ValueType::kInt64 || from == ValueType::kUint64;
  if (rules.integral_to_double && to == ValueType::kDouble && integral) {
    return exact_double(type, value);
  }
  if (rules.string_to_all && from == ValueType::kString) return from_string(type, value);
  if (rules.all_to_string && to == ValueType::kString && from != ValueType::kAny) {
    return std::string_view(memory.keep(as_text(value)));
  }
  return wrong_type(type, value);
}

Result<void> check_range(ColumnType type, const Value& value) {
  bool fits = true;
  if (value.type() == ValueType::kInt64) {
    const SignedRange range = signed_range(type);
    fits = value.as_int64() >= range.min && value.as_int64() <= range.max;
  } else if (value.type() == ValueType::kUint64) {
    fits = value.as_uint64() <= unsigned_max(type);
  } else if (type == ColumnType::kFloat && std::isfinite(value.as_double())) {
    fits = std::abs(value.as_double()) <= double{std::numeric_limits<float>::max()};
  }
  if (fits) return {};
  return refuse(
      fmt::format("value {} is out of range of type {}", as_text(value), to_string(type)));
}

Result<void> check_text(ColumnType type, std::string_view text) {
  if (text.size() > kValueBytesMax) {
    return refuse(
        fmt::format("value is too long: {} bytes, at most {}", text.size(), kValueBytesMax));
  }
  if (type == ColumnType::kUuid && text.size() != kUuidBytes) {
    return refuse("a uuid has 16 bytes");
  }
  const bool unicode = type == ColumnType::kUtf8 || type == ColumnType::kJson;
  if (unicode && !is_utf8(text)) return refuse("value is not valid UTF-8");
  return {};
}

YsonNode to_node(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: return value.as_int64();
    case ValueType::kUint64: return value.as_uint64();
    case ValueType::kDouble: return value.as_double();
    case ValueType::kBoolean: return value.as_boolean();
    case ValueType::kString: return value.text();
    default: return {};
  }
}

bool is_ordered(const YsonNode& node) {
  if (node.has_attributes() || node.as<YsonMap>() != nullptr) return false;
  const auto* list = node.as<YsonList>();
  return list == nullptr || std::ranges::all_of(*list, is_ordered);
}

Result<Value> to_any(const ColumnSchema& column, const Value& value, TextMemory& memory) {
  const Value cell = value.type() == ValueType::kAny ? value : as_any(value, memory);
  TRY_VOID(check_text(ColumnType::kAny, cell.text()));
  if (column.aggregate == Aggregate::kDictSum) {
    TRY_VOID(check_dict(cell.text()));
    return cell;
  }
  if (!column.key) {
    TRY_VOID(check_yson(cell.text()));
    return cell;
  }
  // A value must have a single encoding in keys.
  TRY(const YsonNode node, parse_yson(cell.text()));
  if (!is_ordered(node)) return refuse("a key has no maps and no attributes");
  return Value::any(memory.keep(write_yson(node, YsonFormat::kBinary)));
}

// A value of a type that `type` of the column does not say.
Result<Value> to_typed(const ColumnSchema& column, const LogicalType& type, const Value& value,
                       const ValueRules& rules, TextMemory& memory) {
  const LogicalType& bare = type.untagged();
  if (bare.kind == LogicalType::Kind::kNull || bare.kind == LogicalType::Kind::kVoid) {
    return fail(Errc::kUnsupported, fmt::format("expected \"{}\", actual \"{}\"", type_name(column),
                                                to_string(value.type())));
  }
  if (type.is_composite()) {
    const Value yson = value.type() == ValueType::kAny ? value : as_any(value, memory);
    TRY(std::string stored, encode_composite(type, yson.text()));
    TRY_VOID(check_text(ColumnType::kAny, stored));
    return Value::any(memory.keep(std::move(stored)));
  }
  TRY(const Value cell, to_scalar(column.type, value, rules, memory));
  if (bare.kind == LogicalType::Kind::kDecimal) {
    TRY_VOID(check_decimal(bare, cell.text()));
  }
  return cell;
}

Result<Value> to_unnamed(const ColumnSchema& column, const LogicalType* type, const Value& value,
                         const ValueRules& rules, TextMemory& memory) {
  if (type != nullptr) return to_typed(column, *type, value, rules, memory);
  if (column.type == ColumnType::kAny) return to_any(column, value, memory);
  return to_scalar(column.type, value, rules, memory);
}

}  // namespace

Value as_any(const Value& scalar, TextMemory& memory) {
  return Value::any(memory.keep(write_yson(to_node(scalar), YsonFormat::kBinary)));
}

Result<Value> to_scalar(ColumnType type, const Value& value, const ValueRules& rules,
                        TextMemory& memory) {
  TRY(const Value cell, convert(type, value, rules, memory));
  if (cell.has_text()) {
    TRY_VOID(check_text(type, cell.text()));
  } else {
    TRY_VOID(check_range(type, cell));
  }
  return cell;
}

Result<Value> to_cell(const ColumnSchema& column, const LogicalType* type, const Value& value,
                      const ValueRules& rules, TextMemory& memory) {
  if (value.is_null()) {
    if (column.required) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Required column \"{}\" cannot have \"null\" value", column.name));
    }
    const bool entity = rules.null_to_entity && column.type == ColumnType::kAny &&
                        type == nullptr && !column.key && column.aggregate == Aggregate::kNone;
    return entity ? Value::any("#") : value;
  }
  auto cell = to_unnamed(column, type, value, rules, memory);
  if (cell) return cell;
  if (cell.error().code == Errc::kUnsupported) {
    return fail(Errc::kInvalidArgument, fmt::format("Invalid type of column \"{}\": {}",
                                                    column.name, cell.error().context));
  }
  return refuse(column, cell.error().context);
}

Result<Value> to_cell(const ColumnSchema& column, const Value& value, const ValueRules& rules,
                      TextMemory& memory) {
  if (column.type_v3.empty()) return to_cell(column, nullptr, value, rules, memory);
  const LogicalType type = stored_part(column);
  return to_cell(column, &type, value, rules, memory);
}

}  // namespace moraine::table
