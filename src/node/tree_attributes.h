// The attributes that every node of the tree has, by the names and with the values of YTsaurus.
//
// Promise    Pure. What a table has beside these is read elsewhere (client/table_attributes.h).
// Errors     kInvalidArgument: a value that an attribute cannot have, or one that cannot be set.
// Tests      stored_tree_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scheme/tree_view.h"
#include "yson/node.h"

namespace moraine {

struct TreeAttribute {
  std::string_view name;
  bool opaque = false;  // get //t/@ returns # for it.
  bool stored = false;  // With PathNode::system; set changes it.
};
std::span<const TreeAttribute> tree_attributes();
// Null: no such name.
const TreeAttribute* find_tree_attribute(std::string_view name);

// "map_node", "table", "int64_node".
std::string_view type_name(NodeKind kind);
std::optional<NodeKind> parse_type_name(std::string_view name);

// Of one of tree_attributes(); nullopt: the node has none.
std::optional<YsonNode> read_tree_attribute(const TreeView& view, const PathNode& node,
                                            std::string_view name, std::uint64_t accessed_ms);
// The user's attributes of a node, or those with a meaning, as YSON.
YsonMap user_attributes(const PathNode& node);
std::optional<YsonNode> user_attribute(const PathNode& node, std::string_view name);

// The bytes of a value of a stored system attribute.
Result<Slice> encode_tree_attribute(std::string_view name, const YsonNode& value);
std::unexpected<Error> cannot_set(std::string_view name);

Slice to_slice(const YsonNode& value);
YsonNode from_slice(const Slice& bytes);

// "2024-05-01T10:20:30.123456Z".
std::string time_text(std::uint64_t ms);
// Of such a text, or milliseconds since 1970.
Result<std::uint64_t> parse_time(const YsonNode& value);

// Attributes of a lock and of a transaction, as "#id/@".
YsonMap lock_attributes(const LockRecord& lock);
YsonMap transaction_attributes(const TreeState& state, const TreeTransaction& transaction,
                               std::uint64_t last_ping_ms);

}  // namespace moraine
