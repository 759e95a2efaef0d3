// YSON: trees of scalars, lists and maps with attributes, as text or as bytes.
//
// clang-format off
//   node     = [ "<" pairs ">" ] value
//   value    = string | int64 | uint64 | double | boolean | "#" | "[" items "]" | "{" pairs "}"
//   items    = { node ";" } [ node ]
//   pairs    = { key "=" node ";" } [ key "=" node ]       key = string, not empty
//   text     : name or "quoted" with C escapes; digits, digits u, digits with . or exponent;
//              %true %false %nan %inf %-inf
//   binary   : 01 length (zigzag varint) bytes = string; 02 zigzag varint = int64;
//              03 8 bytes = double; 04 = false; 05 = true; 06 varint = uint64; punctuation
//              as in text
// clang-format on
//
// Promise    Pure. Text and binary may be mixed in what is read. Reading what was written gives an
//            equal tree. Never reads past its input.
// Limits     kYsonDepthMax nested lists, maps and attributes. A tree takes up to about 40 bytes per
//            byte read: callers bound their input.
// Errors     kInvalidArgument; the context says what and at which byte.
// Tests      yson_test.cpp, yson_fuzz.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace moraine {

inline constexpr std::size_t kYsonDepthMax = 256;

struct YsonNode;
struct YsonPair;
using YsonList = std::vector<YsonNode>;
using YsonMap = std::vector<YsonPair>;  // In the order of the input. The last of equal keys wins.

struct YsonNode {
  // monostate: the entity `#`.
  std::variant<std::monostate, std::int64_t, std::uint64_t, double, bool, std::string, YsonList,
               YsonMap>
      value;
  YsonMap attributes;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool is_entity() const { return value.index() == 0; }
};

struct YsonPair {
  std::string key;
  YsonNode node;
};

bool operator==(const YsonNode& a, const YsonNode& b);
bool operator==(const YsonPair& a, const YsonPair& b);
// Null: no such key.
const YsonNode* find(const YsonMap& map, std::string_view key);

enum class YsonDocument : std::uint8_t {
  kNode,
  kListFragment,  // `items` without brackets; parsed as a list.
  kMapFragment,   // `pairs` without braces; parsed as a map.
};
Result<YsonNode> parse_yson(std::string_view input, YsonDocument document = YsonDocument::kNode);
// Checks that the input is a document of this kind, without building a tree.
Result<void> check_yson(std::string_view input, YsonDocument document = YsonDocument::kNode);

enum class YsonFormat : std::uint8_t { kBinary, kText, kPretty };
void append_yson(std::string& out, const YsonNode& node, YsonFormat format);
std::string write_yson(const YsonNode& node, YsonFormat format);

}  // namespace moraine
