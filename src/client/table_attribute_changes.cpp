// Tables as their attributes say: created, and changed by setting them.

#include <fmt/format.h>

#include <algorithm>

#include "client/table_attributes.h"
#include "client/table_option_names.h"
#include "client/yson_fields.h"
#include "table/model/pivots.h"

namespace moraine::client {
namespace {

std::unexpected<Error> cannot_set(std::string_view name) {
  return fail(Errc::kInvalidArgument, fmt::format("Builtin attribute \"{}\" cannot be set", name));
}

bool is_known(std::string_view name) {
  const auto names = table_attribute_names();
  return std::ranges::find(names, name, &TableAttribute::name) != names.end();
}

// `value`: null to remove it.
Result<void> add_attribute(TableAttributeChanges& changes, std::string_view name,
                           const YsonNode* value) {
  if (value != nullptr && value->is_entity()) value = nullptr;
  if (name == "mount_config") return add_mount_config(changes, value);
  if (name == "chunk_writer") return add_chunk_writer(changes, value);
  const SettableAttribute* attribute = find_settable(name);
  if (attribute == nullptr) return cannot_set(name);
  return add_change(changes, *attribute, value);
}

bool all_unmounted(const TableRecord& record) {
  return !record.dynamic || std::ranges::all_of(record.tablets, [](const TabletOfTable& tablet) {
    return tablet.state == MountState::kUnmounted;
  });
}

Result<void> check_unmounted_for(const TableRecord& record, std::string_view name) {
  const SettableAttribute* attribute = find_settable(name);
  if (attribute == nullptr || attribute->unmounted_only.empty()) return {};
  if (all_unmounted(record)) return {};
  return fail(Errc::kReadOnly, fmt::format("Cannot change {} since not all tablets are unmounted",
                                           attribute->unmounted_only));
}

// A key of a pivot as values that borrow the node.
Result<std::vector<Value>> key_values(const YsonList& key) {
  std::vector<Value> values;
  for (const YsonNode& column : key) {
    if (column.is_entity()) {
      values.emplace_back();
    } else if (const auto* number = column.as<std::int64_t>()) {
      values.emplace_back(*number);
    } else if (const auto* large = column.as<std::uint64_t>()) {
      values.emplace_back(*large);
    } else if (const auto* real = column.as<double>()) {
      values.emplace_back(*real);
    } else if (const auto* flag = column.as<bool>()) {
      values.emplace_back(*flag);
    } else if (const auto* text = column.as<std::string>()) {
      values.emplace_back(*text);
    } else {
      return fail(Errc::kInvalidArgument, "Pivot keys have scalar values only");
    }
  }
  return values;
}

// Takes what is not an option: the schema, how many tablets, and what they begin with.
Result<void> take_shape(YsonMap& attributes, NewTable& table) {
  const YsonNode all(attributes);
  const YsonFields fields(all, "Error parsing attributes of a table");
  TRY(const auto dynamic, fields.flag("dynamic"));
  table.dynamic = dynamic.value_or(false);
  table.state = MountState::kUnmounted;
  table.schema.strict = false;
  table.schema.unique_keys = false;
  if (const YsonNode* schema = fields.find("schema")) {
    TRY(table.schema, altered_schema_of_yson(*schema, table.dynamic));
  } else if (table.dynamic) {
    return fail(Errc::kInvalidArgument,
                "New table schema is not valid: a dynamic table must have a schema");
  }
  TRY(const auto tablets, fields.number("tablet_count"));
  const YsonNode* pivots = fields.find("pivot_keys");
  if (tablets && pivots != nullptr) {
    return fail(Errc::kInvalidArgument, "Cannot specify both \"tablet_count\" and \"pivot_keys\"");
  }
  if ((tablets || pivots != nullptr) && !table.dynamic) {
    return fail(Errc::kInvalidArgument, "A static table has no tablets");
  }
  if (tablets) {
    if (*tablets <= 0) return fail(Errc::kInvalidArgument, "Tablet count must be positive");
    if (*tablets > 1) {
      const auto wanted =
          std::min<std::size_t>(static_cast<std::size_t>(*tablets), kTabletsPerTableMax + 1);
      TRY(table.pivots, table::uniform_pivots(table.schema, wanted));
    }
  }
  if (pivots != nullptr) {
    TRY(table.pivots, pivots_of_yson(table.schema, *pivots));
  }
  for (const std::string_view name : {"dynamic", "schema", "tablet_count", "pivot_keys"}) {
    attributes.erase(name);
  }
  return {};
}

}  // namespace

Result<TableSchema> altered_schema_of_yson(const YsonNode& node, bool dynamic) {
  TRY(TableSchema schema, schema_of_yson(node));
  if (dynamic && schema.key_count() > 0) schema.unique_keys = true;
  return schema;
}

Result<std::vector<std::string>> pivots_of_yson(const TableSchema& schema, const YsonNode& node) {
  const auto* keys = node.as<YsonList>();
  if (keys == nullptr) return fail(Errc::kInvalidArgument, "\"pivot_keys\" is not a list");
  if (keys->empty()) return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  std::vector<std::string> pivots;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    const auto* key = (*keys)[i].as<YsonList>();
    if (key == nullptr) return fail(Errc::kInvalidArgument, "A pivot key is not a list");
    TRY(const std::vector<Value> values, key_values(*key));
    TRY(std::string pivot, table::encode_pivot(schema, values));
    if (i == 0) {
      if (!pivot.empty()) return fail(Errc::kInvalidArgument, "First pivot key must be empty");
      continue;
    }
    if (pivot.empty() || (!pivots.empty() && pivots.back() >= pivot)) {
      return fail(Errc::kInvalidArgument, "Pivot keys must be strictly increasing");
    }
    pivots.push_back(std::move(pivot));
  }
  return pivots;
}

Result<TableOfAttributes> table_of_attributes(YsonMap attributes) {
  TableOfAttributes made;
  TRY_VOID(take_shape(attributes, made.table));
  TableAttributeChanges changes;
  const YsonNode* config = attributes.find("mount_config");
  if (config != nullptr) {
    TRY_VOID(add_mount_config(changes, config));
  }
  for (const YsonPair& pair : attributes) {
    if (pair.key == "mount_config") continue;
    if (!is_known(pair.key)) {
      made.user.set(pair.key, pair.node);
      continue;
    }
    // Of an option that both name, that of mount_config counts.
    const SettableAttribute* attribute = find_settable(pair.key);
    const bool in_config = config != nullptr && config->find(pair.key) != nullptr;
    if (in_config && attribute != nullptr && attribute->mount) continue;
    TRY_VOID(add_attribute(changes, pair.key, &pair.node));
  }
  TRY_VOID(set_attributes(made.table.options, changes.options));
  for (auto& [name, value] : changes.kept) {
    if (value) made.table.kept[name] = std::move(*value);
  }
  return made;
}

Task<Result<void>> set_table_attributes(Tables& tables, std::string path, YsonMap values) {
  CO_TRY(const TableDescription table, co_await tables.inspect(path));
  TableAttributeChanges changes;
  for (const YsonPair& pair : values) {
    CO_TRY_VOID(check_unmounted_for(table.record, pair.key));
    CO_TRY_VOID(add_attribute(changes, pair.key, &pair.node));
  }
  co_return co_await tables.change_attributes(std::move(path), std::move(changes));
}

Task<Result<void>> set_table_attribute(Tables& tables, std::string path, std::string name,
                                       std::optional<YsonNode> value) {
  YsonMap values;
  values.set(std::move(name), value ? std::move(*value) : YsonNode());
  co_return co_await set_table_attributes(tables, std::move(path), std::move(values));
}

}  // namespace moraine::client
