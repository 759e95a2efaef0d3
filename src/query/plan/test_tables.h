// Schemas for tests of plans.
#pragma once

#include <memory>

#include "query/plan/bind.h"

namespace moraine::query {

inline std::shared_ptr<const TableSchema> make_schema(std::vector<ColumnSchema> columns) {
  TableSchema schema;
  schema.columns = std::move(columns);
  return std::make_shared<const TableSchema>(std::move(schema));
}

// q: the conformance cases' a, b. t: a column of each type. l, r: tables to join, sharing b.
inline const Schemas& test_schemas() {
  static const Schemas schemas = {
      {"//q", make_schema({{.name = "a", .type = ColumnType::kInt64, .key = true},
                           {.name = "b", .type = ColumnType::kInt64}})},
      {"//t", make_schema({{.name = "k", .type = ColumnType::kInt64, .key = true},
                           {.name = "i", .type = ColumnType::kInt32},
                           {.name = "u", .type = ColumnType::kUint64},
                           {.name = "d", .type = ColumnType::kDouble},
                           {.name = "f", .type = ColumnType::kBoolean},
                           {.name = "s", .type = ColumnType::kString},
                           {.name = "y", .type = ColumnType::kAny},
                           {.name = "odd.name", .type = ColumnType::kInt64}})},
      {"//l", make_schema({{.name = "a", .type = ColumnType::kInt64, .key = true},
                           {.name = "b", .type = ColumnType::kInt64}})},
      {"//r", make_schema({{.name = "b", .type = ColumnType::kInt64, .key = true},
                           {.name = "c", .type = ColumnType::kInt64}})},
      {"//h", make_schema({{.name = "h",
                            .type = ColumnType::kUint64,
                            .key = true,
                            .expression = "farm_hash(b) % 8"},
                           {.name = "b", .type = ColumnType::kInt64, .key = true},
                           {.name = "v", .type = ColumnType::kString}})},
  };
  return schemas;
}

}  // namespace moraine::query
