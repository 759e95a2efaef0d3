// Object ids in the form of YTsaurus: "a-b-c-d", four 32-bit numbers in hex without leading zeros.
// The low 16 bits of c are the type of the object.
//
// Promise    Pure. The text of an id parses to the id. The 16 bytes are a, b, c, d, each
//            big-endian.
// Errors     kInvalidArgument: no such text.
// Tests      object_id_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/random.h"
#include "scheme/path_node.h"

namespace moraine {

// The numbers of YTsaurus.
enum class ObjectType : std::uint16_t {
  kNull = 0,
  kTransaction = 1,        // Of the tree.
  kTabletTransaction = 2,  // Of rows.
  kNestedTransaction = 4,  // Of the tree.
  kLock = 200,
  kStringNode = 300,
  kInt64Node = 301,
  kDoubleNode = 302,
  kMapNode = 303,
  kBooleanNode = 305,
  kUint64Node = 306,
  kFile = 400,
  kTable = 401,
  kLink = 417,
  kDocument = 421,
  kTabletCell = 700,
  kTablet = 702,
  kOperation = 1000,
  kTopic = 10'000,  // Of Moraine only.
};

inline constexpr PathId kNullObjectId{};  // "0-0-0-0".

ObjectType object_type_of(NodeKind kind);
PathId new_object_id(Random& random, ObjectType type);
// What the id says; ids that were made without a type say anything.
ObjectType object_type(const PathId& id);
std::string to_text(const PathId& id);
Result<PathId> parse_object_id(std::string_view text);

}  // namespace moraine
