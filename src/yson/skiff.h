// Skiff: rows as binary values in the order of a schema that the client sends with the format.
//
// clang-format off
//   rows     = { table u16 = 0, tuple }
//   tuple    = value*                        as many as children; nothing between them
//   value    : nothing none; boolean u8; int8..int64, uint8..uint64, double: that many bytes
//              string32, yson32: length u32, bytes
//              variant8: tag u8, the value of that child; variant16: tag u16
//              repeated_variant8: { tag, value } 0xff; repeated_variant16: { tag, value } 0xffff
//   schema   = {wire_type=...; name=...; children=[schema; ...]} | "$name", which is in the registry
//   format   = <table_skiff_schemas=[schema]; skiff_schema_registry={name=schema; ...}>skiff
//   Numbers are little-endian. As YSON:
//   variant8 of nothing and T: optional; # or the value, in a list if T is optional too
//   other variants [tag; value]; repeated ones a list; a tuple inside a row a list
//   maps are written as tuples, by the names of members, and as repeated pairs
//   columns of a row: its names, and for writing to the client
//     $row_index, $range_index   optional int64; a third child, nothing, says: not known
//     $key_switch                boolean, false
//     $other_columns             yson32 with a map of what has no column
// clang-format on
//
// Promise    Pure data. Nested types that refer to the registry are resolved.
// Errors     kInvalidArgument, naming what is wrong; kUnsupported: a wire type that is not read.
// Limits     kSkiffDepthMax, kSkiffTypesMax.
// Tests      skiff_test.cpp, skiff_fuzz.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "yson/node.h"

namespace moraine {

inline constexpr std::size_t kSkiffDepthMax = 64;
inline constexpr std::size_t kSkiffTypesMax = 32'768;  // Of a schema, with nested ones.

inline constexpr std::string_view kSkiffRowIndex = "$row_index";
inline constexpr std::string_view kSkiffRangeIndex = "$range_index";
inline constexpr std::string_view kSkiffKeySwitch = "$key_switch";
inline constexpr std::string_view kSkiffOtherColumns = "$other_columns";

struct SkiffType {
  enum class Wire : std::uint8_t {
    kNothing,
    kBoolean,
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kUint8,
    kUint16,
    kUint32,
    kUint64,
    kDouble,
    kString32,
    kYson32,
    kVariant8,
    kVariant16,
    kRepeatedVariant8,
    kRepeatedVariant16,
    kTuple,
  };
  Wire wire = Wire::kNothing;
  std::string name = {};
  std::vector<SkiffType> children = {};

  bool is_optional() const {
    return wire == Wire::kVariant8 && children.size() == 2 &&
           children.front().wire == Wire::kNothing;
  }
  bool is_repeated() const {
    return wire == Wire::kRepeatedVariant8 || wire == Wire::kRepeatedVariant16;
  }
  bool is_variant() const { return wire == Wire::kVariant8 || wire == Wire::kVariant16; }
  // Of the tags of a variant.
  std::size_t tag_bytes() const {
    return wire == Wire::kVariant16 || wire == Wire::kRepeatedVariant16 ? 2 : 1;
  }
  // Of a scalar that has always the same; 0: none.
  std::size_t fixed_bytes() const;
};
std::string_view to_string(SkiffType::Wire wire);

struct SkiffOptions {
  std::shared_ptr<const SkiffType> row;  // A tuple whose children have distinct names.
};

// Of the attributes of a format.
Result<SkiffOptions> skiff_options(const YsonMap& attributes);

}  // namespace moraine
