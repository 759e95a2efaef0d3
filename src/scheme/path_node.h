// PathNode: one node of the tree.
//
// clang-format off
//   node = version u8 = 1  kind u8  id (16)  created u64  sized path  sized attributes  crc32c u32
// clang-format on
//
// Promise    Pure. Equal nodes have equal bytes. The attributes are bytes of the kind's own format.
// Limits     kAttributesBytesMax.
// Errors     kCorrupt; kUnsupported: another version or kind.
// Tests      path_node_test.cpp, path_node_fuzz.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "io/random.h"

namespace moraine {

inline constexpr std::size_t kAttributesBytesMax = 1u << 20;

enum class NodeKind : std::uint8_t { kDirectory = 1, kTopic = 2, kTable = 3 };
std::string_view to_string(NodeKind kind);

using PathId = std::array<std::uint8_t, 16>;

struct PathNode {
  NodeKind kind = NodeKind::kDirectory;
  std::string path;
  PathId id{};  // New for each created node, whatever its path.
  std::uint64_t created_ms = 0;
  Slice attributes;
};
using NodePtr = std::shared_ptr<const PathNode>;

// A random UUID (version 4), so never all zero.
PathId new_path_id(Random& random);

Slice encode_node(const PathNode& node);
Result<PathNode> decode_node(ByteSpan bytes);

}  // namespace moraine
