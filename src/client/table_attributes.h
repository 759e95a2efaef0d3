// The system attributes of tables, by the names and with the values of YTsaurus: what the tree
// shows of a table beside the user's attributes.
//
// Promise    Each name of table_attribute_names() can be read; those that can be set are stored as
//            the table's schema and options say, with YTsaurus's rules and messages. Attributes
//            that have no meaning here (replication_factor, ...) are kept and shown.
// Threading  That of `tables`: any lane for LaneTables. `tables` outlives the call.
// Errors     kInvalidArgument, kReadOnly: the text says what is wrong; those of Tables.
// Tests      table_attributes_test.cpp; of running tables: node/table_attribute_values_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/tables.h"
#include "scheme/object_id.h"
#include "yson/node.h"

namespace moraine::client {

struct TableAttribute {
  std::string_view name;
  bool opaque = false;    // get //t/@ returns # for it: to be asked for by its name.
  bool writable = false;  // set changes it.
};
// Of every table; the values of some are missing for some tables (row_count of dynamic ones).
std::span<const TableAttribute> table_attribute_names();

// Whether read_table sees rows that are not flushed: the attribute "enable_dynamic_store_read".
bool reads_dynamic_stores(const TableRecord& record);

// The values of these attributes of the table at the path of the scheme. Those that it has not, and
// names that are none of these, are left out. Tablets are asked for their figures only when a name
// needs them. A wanted "mount_config/min_data_ttl" is asked for as "mount_config".
Task<Result<YsonMap>> read_table_attributes(Tables& tables, std::string path,
                                            std::vector<std::string> names);

// Sets an attribute whose `writable` is true: the whole value, so a change of
// "@mount_config/min_data_ttl" is a read, a change and this. nullopt: removes it, that is, sets its
// default. Takes effect for most at the next mount or remount.
Task<Result<void>> set_table_attribute(Tables& tables, std::string path, std::string name,
                                       std::optional<YsonNode> value);
// All of them or none.
Task<Result<void>> set_table_attributes(Tables& tables, std::string path, YsonMap values);

// The table that `create table` with these attributes makes: a static one unless `dynamic` is true,
// dynamic ones unmounted. `user`: those attributes that are not of tables: the user's own, and
// those of every node of the tree (account, expiration_time, ...).
struct TableOfAttributes {
  NewTable table;
  YsonMap user;
};
Result<TableOfAttributes> table_of_attributes(YsonMap attributes);

// The schema as YSON: <strict=%true;unique_keys=%true>[{name=..;type=..;type_v3=..;...};...].
YsonNode schema_to_yson(const TableSchema& schema);
// `type` and `required`, or type_v3. kInvalidArgument has YTsaurus's message. unique_keys is false
// unless it is given: dynamic tables set it.
Result<TableSchema> schema_of_yson(const YsonNode& node);
// The parameter `schema` of alter_table for this table, with the unique_keys of dynamic tables.
Result<TableSchema> altered_schema_of_yson(const YsonNode& node, bool dynamic);

// Pivots of the second and later tablets, encoded, of the parameter pivot_keys: a list of keys or
// prefixes of keys, of which the first is empty.
Result<std::vector<std::string>> pivots_of_yson(const TableSchema& schema, const YsonNode& node);
// A pivot as a list of values.
Result<YsonNode> pivot_to_yson(const std::string& pivot);

// The parameter retention_config of versioned lookups.
Result<RetentionConfig> retention_of_yson(const YsonNode& node);

// Ids of tablets as clients see them, and of the one tablet cell that all of them are in.
PathId tablet_object_id(TabletId tablet);
// nullopt: not an id of a tablet.
std::optional<TabletId> tablet_of_object_id(const PathId& id);
PathId tablet_cell_id();

}  // namespace moraine::client
