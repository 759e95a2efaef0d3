// Values inside documents and attributes, by the rest of a path (tree_path.h).
//
//   a name in a map    a key
//   a name in a list   a place: 0, 1, -1; to add: "begin", "end", "before:1", "after:1"
//   /@name             an attribute of the value; "/@" alone: all of them, as a map
//
// Promise    Pure. A call that fails changes nothing.
// Limits     kTreeValueDepthMax.
// Errors     kNotFound: no such key, place or attribute; kInvalidArgument: the value has no
//            children, or the path does not mean a place. `where` is how messages call the value.
// Tests      value_path_test.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scheme/tree_path.h"
#include "yson/node.h"

namespace moraine {

inline constexpr std::size_t kTreeValueDepthMax = 128;

Result<YsonNode> get_value(const YsonNode& root, std::span<const TreeToken> at,
                           std::string_view where);
bool has_value(const YsonNode& root, std::span<const TreeToken> at);
// `recursive`: creates missing maps. An empty `at` replaces the root.
Result<void> set_value(YsonNode& root, std::span<const TreeToken> at, YsonNode value,
                       bool recursive, std::string_view where);
// Requires: `at` is not empty. `force`: a missing value is no error.
Result<void> remove_value(YsonNode& root, std::span<const TreeToken> at, bool force,
                          std::string_view where);
// The keys of a map.
Result<YsonNode> list_value(const YsonNode& value, std::string_view where);

// "int64", "map", as messages of YTsaurus call them.
std::string_view yson_type_name(const YsonNode& value);

}  // namespace moraine
