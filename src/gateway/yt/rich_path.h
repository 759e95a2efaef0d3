// RichPath: the path of a table with what is wanted of it: columns, ranges of rows.
//
// clang-format off
//   path    = [ "<" attributes ">" ] ypath [ "{" [ name { "," name } ] "}" ] [ "[" ranges "]" ]
//   ranges  = [ range { "," range } ]      range = [ limit ] ":" [ limit ] | limit
//   limit   = "#" row-index | "(" [ scalar { "," scalar } ] ")" | scalar
//   as attributes: columns=[...]; ranges=[{lower_limit=L; upper_limit=L; exact=L}; ...]
//           L = {key=[...]; row_index=...; tablet_index=...; key_bound=[">="; [...]]}
// clang-format on
//
// Promise    Pure. Lower limits are inclusive, upper ones exclusive; a shorter key is before those
//            that begin with it. A limit alone (exact) is all rows whose key begins with it.
// Errors     Code::kGeneric: what is wrong in the path.
// Limits     kRangesMax ranges.
// Tests      rich_path_test.cpp, yt_rich_path_fuzz.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/yt/error.h"

namespace moraine::yt {

inline constexpr std::size_t kRangesMax = 1'000;

// A place between two rows.
struct ReadLimit {
  std::optional<YsonList> key;
  // Rows whose keys begin with `key` are before this place, too.
  bool after_prefix = false;
  std::optional<std::int64_t> row_index;
  // Of ordered tables; row_index is that of the tablet then.
  std::optional<std::int64_t> tablet_index;

  bool none() const { return !key && !row_index && !tablet_index; }
};
struct ReadRange {
  ReadLimit lower;
  ReadLimit upper;
};

struct RichPath {
  std::string path;
  std::optional<std::vector<std::string>> columns;
  std::optional<std::vector<ReadRange>> ranges;  // nullopt: all rows.
  YsonMap attributes;                            // Others: append, timestamp, ...
};

// A string, which may have attributes, or begin with them.
YtResult<RichPath> parse_rich_path(const YsonNode& node);
// The path with columns and ranges as attributes.
YsonNode to_yson(const RichPath& path);

}  // namespace moraine::yt
