// TreePath: a path in the tree as clients write it (YPath).
//
//   path   = root token*
//   root   = "/" | "#" object id
//   token  = "/" name | "/@" [name] | "&" | "/*"
//   name   = bytes but / @ & * [ { \, and escapes \/ \@ \& \* \[ \{ \\ \xHH; not empty
//
// Promise    Pure. The text of a path parses to the path. What a name means (a child, a key of a
//            map, the place in a list) is for those who follow the path.
// Limits     kTreePathBytesMax, kTreePathTokensMax.
// Errors     kInvalidArgument says what is wrong and where.
// Tests      tree_path_test.cpp, tree_path_fuzz.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "scheme/path_node.h"

namespace moraine {

inline constexpr std::size_t kTreePathBytesMax = 16'384;
inline constexpr std::size_t kTreePathTokensMax = 512;

struct TreeToken {
  enum class Kind : std::uint8_t { kName, kAttributes, kNoLink, kAll };
  Kind kind = Kind::kName;
  std::string name;  // Of kName.

  bool operator==(const TreeToken&) const = default;
};
using TreeTokens = std::vector<TreeToken>;

struct TreePath {
  std::optional<PathId> object;  // nullopt: from the root of the tree.
  TreeTokens tokens;

  bool operator==(const TreePath&) const = default;
};

Result<TreePath> parse_tree_path(std::string_view text);
// "//tmp/t/@a/b".
std::string to_text(const TreePath& path);
std::string to_text(std::span<const TreeToken> tokens);

// A name of the tree as a name of the scheme (path.h), and back: other bytes are %XX.
std::string scheme_name(std::string_view name);
std::string tree_name(std::string_view scheme_name);
// "tmp/a%20b" as "//tmp/a b".
std::string tree_path_of(std::string_view scheme_path);

}  // namespace moraine
