// TableSchema: the columns of a table.
//
// Promise    Plain data; check_schema() (src/table/model/schema_check.h) says whether a table may
//            have this schema. Key columns come first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moraine/value.h"

namespace moraine {

enum class ColumnType : std::uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kBoolean,
  kString,
  kUtf8,
  kJson,
  kUuid,
  kAny,
  kDate,
  kDatetime,
  kTimestamp,
  kInterval,
  kDate32,
  kDatetime64,
  kTimestamp64,
  kInterval64,
};
std::string_view to_string(ColumnType type);  // As in YTsaurus schemas: "int64", "any", ...
std::optional<ColumnType> parse_column_type(std::string_view name);
// How cells of the column are stored.
ValueType physical_type(ColumnType type);

enum class Aggregate : std::uint8_t { kNone, kSum, kMin, kMax, kFirst, kXdelta, kDictSum };
std::string_view to_string(Aggregate aggregate);
std::optional<Aggregate> parse_aggregate(std::string_view name);

struct ColumnSchema {
  std::string name;
  ColumnType type = ColumnType::kString;
  bool required = false;
  bool key = false;          // Ascending.
  std::string expression{};  // For a computed key column.
  Aggregate aggregate = Aggregate::kNone;
  std::string lock{};   // Lock group; empty: the primary one.
  std::string group{};  // Columns of one column group are stored together in scan format.
  std::optional<std::uint64_t> max_inline_hunk_size{};
  // A type that `type` and `required` do not say: `decimal`, `list`, `tagged`, ... as YSON text, as
  // set_type() stores it (src/table/model/logical_type.h). `type` is how its values are stored.
  std::string type_v3{};
  bool operator==(const ColumnSchema&) const = default;
};

struct TableSchema {
  std::vector<ColumnSchema> columns;
  bool unique_keys = true;
  bool strict = true;
  bool operator==(const TableSchema&) const = default;

  std::size_t key_count() const;
  // nullopt: no such column.
  std::optional<std::size_t> find(std::string_view name) const;
};

}  // namespace moraine
