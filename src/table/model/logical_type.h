// LogicalType: the type of a column as `type_v3` of YTsaurus's schemas describes it.
//
// clang-format off
//   type     = simple | "null" | "void" | {"type_name"="decimal";"precision"=1..35;"scale"=0..precision}
//            | {"type_name"="optional" or "list";"item"=type}
//            | {"type_name"="struct" or "variant";"members"=[{"name"=..;"type"=type};..]}
//            | {"type_name"="tuple" or "variant";"elements"=[{"type"=type};..]}
//            | {"type_name"="dict";"key"=type;"value"=type}
//            | {"type_name"="tagged";"tag"=..;"item"=type}
//   simple   = the names of column types, but "bool" for boolean and "yson" for any
// clang-format on
//
// Promise    Pure. parse_type(to_yson(x)) is x, and so is parse_type_text(print_type(x)). A column
//            keeps a type in three fields: `type` says how values are stored, `required` that the
//            outermost type is not optional, and `type_v3` what these two do not say.
//            type_of(column) is what set_type() was given. Of null, void, decimal and tagged types
//            the values are scalars; all other types that have no ColumnType are composite: their
//            values are YSON in cells of type any (composite.h).
// Limits     kTypeDepthMax, kTypeNodesMax, kTypeBytesMax; names of members are distinct UTF-8 texts
//            of at most kNameBytesMax bytes.
// Errors     kInvalidArgument: what is wrong, and in which part of the type.
// Tests      logical_type_test.cpp, logical_type_fuzz.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "yson/node.h"

namespace moraine::table {

inline constexpr std::size_t kTypeDepthMax = 32;
inline constexpr std::size_t kTypeNodesMax = 1'024;                  // Types within one type.
inline constexpr std::size_t kTypeBytesMax = std::size_t{64} << 10;  // Of `type_v3`.
inline constexpr std::uint8_t kDecimalPrecisionMax = 35;

struct LogicalType {
  enum class Kind : std::uint8_t {
    kSimple,
    kNull,
    kVoid,
    kDecimal,
    kOptional,
    kList,
    kStruct,
    kTuple,
    kVariantStruct,
    kVariantTuple,
    kDict,
    kTagged,
  };
  Kind kind = Kind::kSimple;
  ColumnType simple = ColumnType::kString;  // Of kSimple.
  std::uint8_t precision = 0;               // Of kDecimal, as `scale`.
  std::uint8_t scale = 0;
  std::string tag{};                 // Of kTagged.
  std::vector<std::string> names{};  // Of kStruct and kVariantStruct: of the parts.
  // kOptional, kList, kTagged: one; kDict: key and value; kStruct, kTuple, variants: any number.
  std::vector<LogicalType> parts{};
  bool operator==(const LogicalType&) const = default;

  static LogicalType of(ColumnType type) { return {.simple = type}; }
  static LogicalType of(Kind kind) { return {.kind = kind}; }
  static LogicalType optional(LogicalType item);

  // Whether null is one of its values.
  bool is_nullable() const;
  // Whether its values are YSON that follows the type. Not for optional types of a column, which
  // are the column's null.
  bool is_composite() const;
  // Without tags around it.
  const LogicalType& untagged() const;
};

Result<LogicalType> parse_type(const YsonNode& node);
Result<LogicalType> parse_type_text(std::string_view yson);
YsonNode to_yson(const LogicalType& type);
// As YSON text: of equal types it is equal.
std::string print_type(const LogicalType& type);

// Requires: a column that check_type() accepts.
LogicalType type_of(const ColumnSchema& column);
// What `type_v3` says of a column that has one: values that are not null are of this type.
LogicalType stored_part(const ColumnSchema& column);
// Sets `type`, `required` and `type_v3`.
void set_type(ColumnSchema& column, const LogicalType& type);
// Checks that the three fields are those of set_type().
Result<void> check_type(const ColumnSchema& column);
// The name under "type" of YTsaurus's schemas: of decimals "string", of composite types "any".
std::string_view type_name(const ColumnSchema& column);

// Whether every value of `from` is one of `to`. Optional members may be appended to a struct, and
// alternatives to a variant.
bool is_wider(const LogicalType& from, const LogicalType& to);

}  // namespace moraine::table
