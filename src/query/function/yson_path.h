// Finds a node inside a value of type any.
//
// clang-format off
//   path    = { "/" [ "@" ] name }      empty: the node itself
//   name    = bytes but "/"; a backslash takes the next byte as it is
//   In a map the name is a key, in a list a number: negative ones count from the end. After "@" it
//   is the key of an attribute.
// clang-format on
//
// Promise    Pure. Of equal keys the first counts.
// Limits     Time linear in the value, times the names in the path.
// Errors     kInvalidArgument: the path does not follow the grammar.
// Tests      call_any_test.cpp.
#pragma once

#include <string_view>

#include "query/function/yson_cursor.h"

namespace moraine::query {

// Requires: the cursor stands before the node. True: its event is the first of what was found.
Result<bool> find_path(YsonCursor& cursor, std::string_view path);
// The same for one item of a list. Requires: the event is the first of a node.
Result<bool> find_item(YsonCursor& cursor, std::int64_t index);

}  // namespace moraine::query
