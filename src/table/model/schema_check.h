// Which schemas a table may have, and how a schema may change.
//
// Promise    Pure. Reports the first rule that is broken, with the column's name.
// Errors     kInvalidArgument: "New table schema is not valid: ...", "Table schemas are
//            incompatible: ...".
// Tests      schema_check_test.cpp, schema_alter_test.cpp.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "moraine/schema.h"

namespace moraine::table {

enum class TableKind : std::uint8_t {
  kSorted,   // Dynamic: unique keys, strict.
  kOrdered,  // Dynamic: no key columns, strict; no aggregates and no locks (ordered.h).
  kStatic,   // Sorted or not; more columns, keys may repeat, no `$ttl`, keys alone are enough.
};

Result<void> check_schema(const TableSchema& schema, TableKind kind = TableKind::kSorted);
// Both must be valid for this kind of table, and the new one must be able to read data of the old
// one.
Result<void> check_alter(const TableSchema& old_schema, const TableSchema& new_schema,
                         TableKind kind = TableKind::kSorted);
// Whether every value of `from` that is not null is a valid value of `to`; key columns do not
// become `any`.
bool is_wider(const ColumnSchema& from, const ColumnSchema& to);

}  // namespace moraine::table
