#include "table/model/schema_check.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "expression/expression.h"
#include "table/model/change.h"
#include "table/model/limits.h"
#include "table/model/logical_type.h"
#include "table/model/ordered.h"

namespace moraine::table {
namespace {

constexpr std::string_view kTtlColumn = "$ttl";

std::unexpected<Error> invalid(std::string why) {
  return fail(Errc::kInvalidArgument, "New table schema is not valid: " + std::move(why));
}
std::unexpected<Error> invalid(const ColumnSchema& column, std::string_view why) {
  return invalid(fmt::format("column \"{}\" {}", column.name, why));
}

// The columns that tablets of ordered tables fill in.
Result<void> check_filled(const ColumnSchema& column) {
  const bool timestamp = column.name == kRowTimestampColumn;
  if (!timestamp && column.name != kCumulativeWeightColumn) {
    return invalid(column, "has a reserved name");
  }
  const ColumnType expected = timestamp ? ColumnType::kUint64 : ColumnType::kInt64;
  if (column.type == expected && column.type_v3.empty() && !column.required) return {};
  return invalid(column, fmt::format("must be an optional {} value", to_string(expected)));
}

Result<void> check_names(const ColumnSchema& column, TableKind kind) {
  if (column.name.empty()) return invalid("a column has no name");
  if (column.name.size() > kNameBytesMax) return invalid(column, "has a name that is too long");
  if (column.lock.size() > kNameBytesMax)
    return invalid(column, "has a lock name that is too long");
  if (column.group.size() > kNameBytesMax) {
    return invalid(column, "has a group name that is too long");
  }
  if (!column.name.starts_with('$')) return {};
  if (kind == TableKind::kOrdered) return check_filled(column);
  if (column.name != kTtlColumn || kind != TableKind::kSorted) {
    return invalid(column, "has a reserved name");
  }
  if (column.type != ColumnType::kUint64 || column.required || column.key ||
      column.aggregate != Aggregate::kNone) {
    return invalid(column, "must be an optional uint64 value");
  }
  return {};
}

bool fits_aggregate(Aggregate aggregate, ColumnType type) {
  const ValueType physical = physical_type(type);
  switch (aggregate) {
    case Aggregate::kNone:
    case Aggregate::kFirst: return true;
    // A sum of a narrower type could exceed its range.
    case Aggregate::kSum:
      return type == ColumnType::kInt64 || type == ColumnType::kUint64 ||
             type == ColumnType::kDouble;
    case Aggregate::kMin:
    case Aggregate::kMax: return physical != ValueType::kAny;
    // Its states are not texts of a narrower type.
    case Aggregate::kXdelta: return type == ColumnType::kString;
    case Aggregate::kDictSum: return type == ColumnType::kAny;
  }
  return false;
}

Result<void> check_value_rules(const ColumnSchema& column) {
  if (auto checked = check_type(column); !checked) {
    return invalid(column, fmt::format("has an invalid type: {}", checked.error().context));
  }
  const bool is_any = column.type == ColumnType::kAny && column.type_v3.empty();
  if (is_any && column.required) {
    return invalid(column, "of type any cannot be required");
  }
  if (!column.type_v3.empty() && column.aggregate != Aggregate::kNone &&
      column.aggregate != Aggregate::kFirst) {
    return invalid(column, fmt::format("of type {} cannot have aggregate \"{}\"", column.type_v3,
                                       to_string(column.aggregate)));
  }
  if (!column.type_v3.empty() && column.key && column.type == ColumnType::kAny &&
      type_of(column).is_composite()) {
    return invalid(column, "is a key column and cannot be of a composite type");
  }
  if (column.key && column.aggregate != Aggregate::kNone) {
    return invalid(column, "is a key column and cannot be aggregated");
  }
  if (column.key && !column.lock.empty()) {
    return invalid(column, "is a key column and cannot have a lock");
  }
  if (!fits_aggregate(column.aggregate, column.type)) {
    return invalid(column, fmt::format("of type {} cannot have aggregate \"{}\"",
                                       to_string(column.type), to_string(column.aggregate)));
  }
  if (!column.max_inline_hunk_size) return {};
  if (*column.max_inline_hunk_size == 0) return invalid(column, "has max_inline_hunk_size 0");
  const ValueType physical = physical_type(column.type);
  if (column.key || column.aggregate != Aggregate::kNone ||
      (physical != ValueType::kString && physical != ValueType::kAny)) {
    return invalid(column,
                   "cannot have max_inline_hunk_size: only values of string-like columns "
                   "that are not aggregated can");
  }
  return {};
}

Result<void> check_expression(const ColumnSchema& column, const TableSchema& schema) {
  if (column.expression.empty()) return {};
  if (!column.key) return invalid(column, "is computed and must be a key column");
  if (column.required) return invalid(column, "is computed and cannot be required");
  const auto compiled = compile_expression(column.expression, schema);
  if (!compiled) return invalid(column, "has a bad expression: " + compiled.error().context);
  const ValueType declared = physical_type(column.type);
  if (compiled->type() != declared) {
    return invalid(column, fmt::format("has an expression of type {} and is of type {}",
                                       to_string(compiled->type()), to_string(column.type)));
  }
  return {};
}

Result<void> check_ordered(const TableSchema& schema) {
  if (schema.key_count() != 0) return invalid("an ordered table has no key columns");
  if (schema.columns.empty()) return invalid("There must be at least one column");
  if (!schema.strict) return invalid("the schema of a dynamic table must be strict");
  for (const ColumnSchema& column : schema.columns) {
    if (column.aggregate != Aggregate::kNone) {
      return invalid(column, "of an ordered table cannot be aggregated");
    }
    if (!column.lock.empty()) return invalid(column, "of an ordered table cannot have a lock");
  }
  return {};
}

Result<void> check_counts(const TableSchema& schema, TableKind kind) {
  const bool is_static = kind == TableKind::kStatic;
  const std::size_t keys = schema.key_count();
  if (schema.columns.size() > (is_static ? kStaticColumnsMax : kColumnsMax)) {
    return invalid("Too many columns");
  }
  if (keys > (is_static ? kStaticKeyColumnsMax : kKeyColumnsMax)) {
    return invalid("Too many key columns");
  }
  const auto xdeltas =
      std::ranges::count(schema.columns, Aggregate::kXdelta, &ColumnSchema::aggregate);
  if (static_cast<std::size_t>(xdeltas) > kXdeltaColumnsMax) {
    return invalid(fmt::format("Too many columns with aggregate \"xdelta\": at most {} are allowed",
                               kXdeltaColumnsMax));
  }
  if (is_static) return {};
  if (kind == TableKind::kOrdered) return check_ordered(schema);
  if (keys == 0) return invalid("There must be at least one key column");
  if (keys == schema.columns.size()) return invalid("There must be at least one non-key column");
  if (!schema.strict) return invalid("the schema of a dynamic table must be strict");
  if (!schema.unique_keys) return invalid("a sorted dynamic table must have unique keys");
  return {};
}

std::unexpected<Error> incompatible(const ColumnSchema& column, std::string_view why) {
  return fail(Errc::kInvalidArgument,
              fmt::format("Table schemas are incompatible: column \"{}\" {}", column.name, why));
}

std::string shown_type(const ColumnSchema& column) {
  return column.type_v3.empty() ? std::string(to_string(column.type)) : column.type_v3;
}

Result<void> check_column_alter(const ColumnSchema& before, const ColumnSchema& after) {
  if (before.key != after.key) return incompatible(before, "cannot become a key or stop being one");
  if (!is_wider(before, after)) {
    return incompatible(before, fmt::format("cannot change its type from {} to {}",
                                            shown_type(before), shown_type(after)));
  }
  if (after.required && !before.required) return incompatible(before, "cannot become required");
  if (before.expression != after.expression) {
    return incompatible(before, "cannot change its expression");
  }
  if (before.aggregate != Aggregate::kNone && before.aggregate != after.aggregate) {
    return incompatible(before, "cannot change its aggregate");
  }
  if (before.max_inline_hunk_size && !after.max_inline_hunk_size) {
    return incompatible(before, "cannot lose max_inline_hunk_size");
  }
  return {};
}

}  // namespace

Result<void> check_schema(const TableSchema& schema, TableKind kind) {
  std::set<std::string_view> names;
  std::set<std::string_view> locks;
  bool values_begun = false;
  for (const ColumnSchema& column : schema.columns) {
    TRY_VOID(check_names(column, kind));
    if (column.aggregate > Aggregate::kDictSum) return invalid(column, "has an unknown aggregate");
    if (!names.insert(column.name).second) return invalid(column, "is listed twice");
    if (column.key && values_begun) {
      return invalid(column, "is a key column after a value column: keys must form a prefix");
    }
    values_begun = values_begun || !column.key;
    TRY_VOID(check_value_rules(column));
    if (!column.lock.empty()) locks.insert(column.lock);
  }
  if (locks.size() > kLockGroupsMax) return invalid("Too many column locks");
  TRY_VOID(check_counts(schema, kind));
  for (const ColumnSchema& column : schema.columns) {
    TRY_VOID(check_expression(column, schema));
  }
  return {};
}

bool is_wider(const ColumnSchema& from, const ColumnSchema& to) {
  if (from.type == to.type && from.type_v3 == to.type_v3) return true;
  if (to.type == ColumnType::kAny && to.type_v3.empty()) return !from.key;
  // What may be null is the columns' matter.
  ColumnSchema before = from;
  ColumnSchema after = to;
  before.required = after.required = true;
  return is_wider(type_of(before), type_of(after));
}

Result<void> check_alter(const TableSchema& old_schema, const TableSchema& new_schema,
                         TableKind kind) {
  const bool keys = new_schema.key_count() != 0;
  if (kind == TableKind::kStatic || keys == (kind == TableKind::kSorted)) {
    TRY_VOID(check_schema(new_schema, kind));
  }
  if ((old_schema.key_count() == 0) != (new_schema.key_count() == 0)) {
    return fail(Errc::kInvalidArgument,
                "Table schemas are incompatible: Cannot change dynamic table type from sorted to "
                "ordered or vice versa");
  }
  if (!old_schema.strict && new_schema.strict) {
    return fail(Errc::kInvalidArgument,
                "Table schemas are incompatible: a weak schema cannot become a strict one");
  }
  for (std::size_t i = 0; i < old_schema.columns.size(); ++i) {
    const ColumnSchema& before = old_schema.columns[i];
    const auto at = new_schema.find(before.name);
    if (!at) return incompatible(before, "is missing in the new schema");
    TRY_VOID(check_column_alter(before, new_schema.columns[*at]));
    if (before.key && *at != i) return incompatible(before, "cannot change its place in the key");
  }
  for (const ColumnSchema& after : new_schema.columns) {
    if (old_schema.find(after.name)) continue;
    // Rows may have values of this name that are of other types.
    if (!old_schema.strict) return incompatible(after, "is new, and the schema is not strict");
    if (after.required) return incompatible(after, "is new and cannot be required");
    if (!after.expression.empty()) return incompatible(after, "is new and cannot be computed");
  }
  return {};
}

}  // namespace moraine::table
