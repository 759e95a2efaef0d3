// Paths of the tree: names separated by '/', with no '/' at either end: "team/orders".
//
// Promise    Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace moraine {

inline constexpr std::size_t kPathBytesMax = 1'024;
inline constexpr std::size_t kPathNamesMax = 32;

// Letters, digits, '.', '_' and '-'; not "." or "..". Other bytes are written as %XX, with
// upper-case digits (scheme_name() of tree_path.h). kInvalidArgument says what is wrong.
Result<void> check_name(std::string_view name);
Result<void> check_path(std::string_view path);

// "#" and an id: a node that no folder has, such as a table that a transaction has created.
inline bool is_hidden(std::string_view path) {
  return path.starts_with('#');
}
// A path, or that of a hidden node.
Result<void> check_stored_path(std::string_view path);

// The folder of a path; empty for the root.
std::string_view parent_of(std::string_view path);
std::vector<std::string_view> names_of(std::string_view path);

}  // namespace moraine
