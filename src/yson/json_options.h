// What YTsaurus's JSON looks like: the options of the `json` format.
//
// Threading  Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace moraine {

inline constexpr std::size_t kJsonMemoryMax = std::size_t{256} << 20;

struct JsonOptions {
  enum class Attributes : std::uint8_t {
    kOnDemand,  // {"$attributes": ..., "$value": ...} for nodes with attributes.
    kAlways,    // For every node that has nothing else beside its value.
    kNever,     // Attributes are left out. In what is read, keys are taken as they are.
  };

  bool pretty = false;
  Attributes attributes = Attributes::kOnDemand;
  // What is read has no special keys.
  bool plain = false;
  // Bytes from 0x80 are the characters U+0080 to U+00FF; other characters are refused. If false,
  // strings are UTF-8.
  bool encode_utf8 = true;
  bool stringify = false;            // Scalars are written as strings.
  bool annotate_with_types = false;  // Scalars are written as {"$type": ..., "$value": ...}.
  bool support_infinity = false;     // inf and -inf are numbers.
  bool stringify_nan_and_infinity = false;
  bool skip_null_values = false;  // For writers of rows: columns that are null are left out.
  // Longer strings are cut to so many bytes and get "$incomplete": true.
  std::optional<std::size_t> string_length_limit = {};
  // For what is read of a document or row.
  std::size_t memory_limit = kJsonMemoryMax;
};

}  // namespace moraine
