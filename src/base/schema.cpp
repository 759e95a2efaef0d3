#include "moraine/schema.h"

#include <algorithm>
#include <array>
#include <utility>

namespace moraine {
namespace {

struct TypeFacts {
  std::string_view name;
  ValueType physical;
};

// By ColumnType.
constexpr std::array<TypeFacts, 24> kTypes = {{
    {"int8", ValueType::kInt64},        {"int16", ValueType::kInt64},
    {"int32", ValueType::kInt64},       {"int64", ValueType::kInt64},
    {"uint8", ValueType::kUint64},      {"uint16", ValueType::kUint64},
    {"uint32", ValueType::kUint64},     {"uint64", ValueType::kUint64},
    {"float", ValueType::kDouble},      {"double", ValueType::kDouble},
    {"boolean", ValueType::kBoolean},   {"string", ValueType::kString},
    {"utf8", ValueType::kString},       {"json", ValueType::kString},
    {"uuid", ValueType::kString},       {"any", ValueType::kAny},
    {"date", ValueType::kUint64},       {"datetime", ValueType::kUint64},
    {"timestamp", ValueType::kUint64},  {"interval", ValueType::kInt64},
    {"date32", ValueType::kInt64},      {"datetime64", ValueType::kInt64},
    {"timestamp64", ValueType::kInt64}, {"interval64", ValueType::kInt64},
}};
static_assert(kTypes.size() == std::to_underlying(ColumnType::kInterval64) + 1);

// By Aggregate.
constexpr std::array<std::string_view, 7> kAggregates = {"",      "sum",    "min",     "max",
                                                         "first", "xdelta", "dict_sum"};
static_assert(kAggregates.size() == std::to_underlying(Aggregate::kDictSum) + 1);

}  // namespace

std::string_view to_string(ColumnType type) {
  return kTypes[std::to_underlying(type)].name;
}

std::optional<ColumnType> parse_column_type(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ColumnType>(i);
  }
  // The names of type_v3.
  if (name == "bool") return ColumnType::kBoolean;
  if (name == "yson") return ColumnType::kAny;
  return std::nullopt;
}

ValueType physical_type(ColumnType type) {
  return kTypes[std::to_underlying(type)].physical;
}

std::string_view to_string(Aggregate aggregate) {
  return kAggregates[std::to_underlying(aggregate)];
}

std::optional<Aggregate> parse_aggregate(std::string_view name) {
  for (std::size_t i = 1; i < kAggregates.size(); ++i) {
    if (kAggregates[i] == name) return static_cast<Aggregate>(i);
  }
  return std::nullopt;
}

std::size_t TableSchema::key_count() const {
  const auto end = std::ranges::find(columns, false, &ColumnSchema::key);
  return static_cast<std::size_t>(end - columns.begin());
}

std::optional<std::size_t> TableSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnSchema::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace moraine
