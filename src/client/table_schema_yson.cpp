// Schemas of tables as YSON.

#include <fmt/format.h>

#include "client/table_attributes.h"
#include "client/yson_fields.h"
#include "table/model/logical_type.h"

namespace moraine::client {
namespace {

std::unexpected<Error> invalid(std::string_view column, std::string_view why) {
  if (column.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("New table schema is not valid: {}", why));
  }
  return fail(Errc::kInvalidArgument,
              fmt::format("New table schema is not valid: column \"{}\" {}", column, why));
}

// `type` and `required`, or `type_v3`; if all are given they must say the same.
Result<void> read_type(const YsonFields& fields, ColumnSchema& column) {
  const YsonNode* type_v3 = fields.find("type_v3");
  TRY(const auto simple, fields.text("type"));
  TRY(const auto required, fields.flag("required"));
  if (!simple && type_v3 == nullptr) return invalid(column.name, "has no type");
  if (type_v3 != nullptr) {
    auto type = table::parse_type(*type_v3);
    if (!type) return invalid(column.name, "has a bad type_v3: " + type.error().context);
    table::set_type(column, *type);
    if (required && *required != column.required) {
      return invalid(column.name, "has a type_v3 that contradicts \"required\"");
    }
    if (simple && *simple != table::type_name(column)) {
      return invalid(column.name, "has a type_v3 that contradicts its type");
    }
    return {};
  }
  if (const auto type = parse_column_type(*simple)) {
    column.type = *type;
    column.required = required.value_or(false);
    return {};
  }
  // Null and void have names, but are no column types.
  auto type = table::parse_type(YsonNode(*simple));
  if (!type) return invalid(column.name, fmt::format("has the unknown type \"{}\"", *simple));
  table::set_type(column, *type);
  return {};
}

Result<void> read_sort_order(const YsonFields& fields, ColumnSchema& column) {
  TRY(const auto order, fields.text("sort_order"));
  if (!order) return {};
  if (*order == "descending") {
    return invalid(column.name, "has sort order \"descending\", which is not allowed");
  }
  if (*order != "ascending") {
    return invalid(column.name, fmt::format("has the unknown sort order \"{}\"", *order));
  }
  column.key = true;
  return {};
}

Result<ColumnSchema> column_of(const YsonNode& node) {
  const YsonFields fields(node, "New table schema is not valid: a column");
  if (node.as<YsonMap>() == nullptr) return invalid("", "a column is not a map");
  ColumnSchema column;
  TRY(const auto name, fields.text("name"));
  if (!name) return invalid("", "a column has no name");
  column.name = *name;
  TRY_VOID(read_type(fields, column));
  TRY_VOID(read_sort_order(fields, column));
  TRY(const auto stable, fields.text("stable_name"));
  if (stable && *stable != column.name) {
    return fail(Errc::kUnsupported,
                fmt::format("column \"{}\": stable names are not supported", column.name));
  }
  TRY(const auto materialized, fields.flag("materialized"));
  if (materialized && !*materialized) {
    return fail(Errc::kUnsupported,
                fmt::format("column \"{}\": columns that are not materialized are not supported",
                            column.name));
  }
  TRY(const auto expression, fields.text("expression"));
  TRY(const auto lock, fields.text("lock"));
  TRY(const auto group, fields.text("group"));
  TRY(const auto aggregate, fields.text("aggregate"));
  TRY(const auto hunk, fields.number("max_inline_hunk_size"));
  if ((lock && lock->empty()) || (group && group->empty())) {
    return invalid(column.name, "has an empty name of a lock or group");
  }
  column.expression = expression.value_or("");
  column.lock = lock.value_or("");
  column.group = group.value_or("");
  if (aggregate) {
    const auto known = parse_aggregate(*aggregate);
    if (!known || *known == Aggregate::kNone) {
      return invalid(column.name, fmt::format("has the unknown aggregate \"{}\"", *aggregate));
    }
    column.aggregate = *known;
  }
  if (hunk) {
    if (*hunk <= 0) return invalid(column.name, "has a max_inline_hunk_size that is not positive");
    column.max_inline_hunk_size = static_cast<std::uint64_t>(*hunk);
  }
  return column;
}

YsonNode column_to_yson(const ColumnSchema& column) {
  YsonMap map;
  map.set("name", column.name);
  map.set("type", table::type_name(column));
  map.set("required", column.required);
  map.set("type_v3", table::to_yson(table::type_of(column)));
  if (column.key) map.set("sort_order", "ascending");
  if (!column.expression.empty()) map.set("expression", column.expression);
  if (!column.lock.empty()) map.set("lock", column.lock);
  if (!column.group.empty()) map.set("group", column.group);
  if (column.aggregate != Aggregate::kNone) map.set("aggregate", to_string(column.aggregate));
  if (column.max_inline_hunk_size) {
    map.set("max_inline_hunk_size", static_cast<std::int64_t>(*column.max_inline_hunk_size));
  }
  return map;
}

}  // namespace

YsonNode schema_to_yson(const TableSchema& schema) {
  YsonList columns;
  for (const ColumnSchema& column : schema.columns) columns.push_back(column_to_yson(column));
  YsonNode node(std::move(columns));
  node.mutable_attributes().set("strict", schema.strict);
  node.mutable_attributes().set("unique_keys", schema.unique_keys);
  return node;
}

Result<TableSchema> schema_of_yson(const YsonNode& node) {
  const auto* columns = node.as<YsonList>();
  if (columns == nullptr) return invalid("", "a schema is a list of columns");
  TableSchema schema;
  const YsonNode attributes(node.attributes());
  const YsonFields fields(attributes, "New table schema is not valid: an attribute");
  TRY(const auto strict, fields.flag("strict"));
  TRY(const auto unique, fields.flag("unique_keys"));
  schema.strict = strict.value_or(true);
  schema.unique_keys = unique.value_or(false);
  for (const YsonNode& column : *columns) {
    TRY(ColumnSchema read, column_of(column));
    schema.columns.push_back(std::move(read));
  }
  return schema;
}

Result<RetentionConfig> retention_of_yson(const YsonNode& node) {
  if (node.as<YsonMap>() == nullptr) {
    return fail(Errc::kInvalidArgument, "\"retention_config\" is not a map");
  }
  const YsonFields fields(node, "Error parsing retention_config");
  RetentionConfig config;
  TRY(const auto min_versions, fields.number("min_data_versions"));
  TRY(const auto max_versions, fields.number("max_data_versions"));
  TRY(const auto min_ttl, fields.milliseconds("min_data_ttl"));
  TRY(const auto max_ttl, fields.milliseconds("max_data_ttl"));
  for (const auto& count : {min_versions, max_versions}) {
    if (count && (*count < 0 || *count > ~std::uint32_t{0})) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("retention_config: {} versions are not possible", *count));
    }
  }
  if (min_versions) config.min_data_versions = static_cast<std::uint32_t>(*min_versions);
  if (max_versions) config.max_data_versions = static_cast<std::uint32_t>(*max_versions);
  if (min_ttl) config.min_data_ttl = *min_ttl;
  if (max_ttl) config.max_data_ttl = *max_ttl;
  return config;
}

}  // namespace moraine::client
