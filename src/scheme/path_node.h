// PathNode: one node of the tree.
//
// clang-format off
//   node       = version u8 = 3  kind u8  id (16)  created u64  sized path  sized record
//                attributes                       the user's; not in version 1: none
//                modified u64  touched u64  revision u64  attributes
//                                                 of the system; not in versions 1 and 2: none
//                crc32c u32
//   attributes = count u32  (sized name  sized value)*      ascending by name
// clang-format on
//
// Promise    Pure. Equal nodes have equal bytes. The record is bytes of the kind's own format
//            (table_record.h, topic_record.h; empty for a directory; the value of a document or
//            a scalar as binary YSON; the target of a link as text). Values of attributes are
//            binary YSON for the tree (tree_state.h); nothing here depends on names or values.
// Limits     kRecordBytesMax; kUserAttributesMax, kAttributeNameBytesMax, kUserAttributesBytesMax.
// Errors     kCorrupt; kUnsupported: another version or kind.
// Tests      path_node_test.cpp, path_node_fuzz.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "io/random.h"

namespace moraine {

inline constexpr std::size_t kRecordBytesMax = 1u << 20;
inline constexpr std::size_t kUserAttributesMax = 1'000;  // Of one node.
inline constexpr std::size_t kAttributeNameBytesMax = 256;
inline constexpr std::size_t kUserAttributesBytesMax = 1u << 20;  // Names and values of one node.

enum class NodeKind : std::uint8_t {
  kDirectory = 1,
  kTopic = 2,
  kTable = 3,
  kDocument = 4,
  kString = 5,
  kInt64 = 6,
  kUint64 = 7,
  kDouble = 8,
  kBoolean = 9,
  kLink = 10,
  kFile = 11,
};
inline constexpr std::uint8_t kNodeKindLast = 11;
std::string_view to_string(NodeKind kind);

using PathId = std::array<std::uint8_t, 16>;

// Values by name. Values are opaque bytes.
using UserAttributes = std::map<std::string, Slice, std::less<>>;

struct PathNode {
  NodeKind kind = NodeKind::kDirectory;
  std::string path;
  PathId id{};  // New for each created node, whatever its path.
  std::uint64_t created_ms = 0;
  Slice record;
  UserAttributes attributes;
  std::uint64_t modified_ms = 0;
  std::uint64_t touched_ms = 0;  // The last access that was stored.
  std::uint64_t revision = 0;    // Of the last change; later changes have larger ones.
  UserAttributes system;         // Attributes with a meaning: "expiration_time", "account", ...
};
using NodePtr = std::shared_ptr<const PathNode>;

// A random UUID (version 4), so never all zero.
PathId new_path_id(Random& random);

// kInvalidArgument: an empty or too long name, or attributes beyond the limits of a node.
Result<void> check_attributes(const UserAttributes& attributes);

Slice encode_node(const PathNode& node);
Result<PathNode> decode_node(ByteSpan bytes);

}  // namespace moraine
