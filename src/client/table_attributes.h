// The system attributes of tables, by the names and with the values of YTsaurus: what the tree
// shows of a table beside the user's attributes.
//
// Promise    Each name of table_attribute_names() can be read; those that can be set are stored as
//            the table's schema and options say, with YTsaurus's rules and messages.
// Threading  That of `tables`: any lane for LaneTables. `tables` outlives the call.
// Errors     kInvalidArgument, kReadOnly: the text says what is wrong; those of Tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/tables.h"
#include "yson/node.h"

namespace moraine::client {

struct TableAttribute {
  std::string_view name;
  bool opaque = false;    // get //t/@ returns # for it: to be asked for by its name.
  bool writable = false;  // set changes it.
};
// Of every table; the values of some are missing for some tables (row_count of dynamic ones).
std::span<const TableAttribute> table_attribute_names();

// The values of these attributes of the table at the path of the scheme. Those that it has not are
// left out. Tablets are asked for their figures only when a name needs them.
Task<Result<YsonMap>> read_table_attributes(Tables& tables, std::string path,
                                            std::vector<std::string> names);

// Sets an attribute whose `writable` is true. nullopt: removes it, that is, sets its default.
Task<Result<void>> set_table_attribute(Tables& tables, std::string path, std::string name,
                                       std::optional<YsonNode> value);

// The table that `create table` with these attributes makes, and the attributes that are the
// user's own.
struct TableOfAttributes {
  NewTable table;
  YsonMap user;
};
Result<TableOfAttributes> table_of_attributes(YsonMap attributes);

// The schema as YSON: <strict=%true;unique_keys=%true>[{name=..;type=..;type_v3=..;...};...].
YsonNode schema_to_yson(const TableSchema& schema);
// `type` and `required`, or type_v3. kInvalidArgument has YTsaurus's message.
Result<TableSchema> schema_of_yson(const YsonNode& node);

// The parameter retention_config of versioned lookups.
Result<RetentionConfig> retention_of_yson(const YsonNode& node);

}  // namespace moraine::client
