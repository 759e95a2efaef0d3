#include "scheme/object_id.h"

#include <fmt/format.h>

#include <charconv>

namespace moraine {
namespace {

constexpr std::size_t kParts = 4;
constexpr std::size_t kTypeAt = 10;  // The low half of c.

std::uint32_t part_of(const PathId& id, std::size_t part) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | id[part * 4 + i];
  return value;
}

void set_part(PathId& id, std::size_t part, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    id[part * 4 + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

}  // namespace

ObjectType object_type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDirectory: return ObjectType::kMapNode;
    case NodeKind::kTopic: return ObjectType::kTopic;
    case NodeKind::kTable: return ObjectType::kTable;
    case NodeKind::kDocument: return ObjectType::kDocument;
    case NodeKind::kString: return ObjectType::kStringNode;
    case NodeKind::kInt64: return ObjectType::kInt64Node;
    case NodeKind::kUint64: return ObjectType::kUint64Node;
    case NodeKind::kDouble: return ObjectType::kDoubleNode;
    case NodeKind::kBoolean: return ObjectType::kBooleanNode;
    case NodeKind::kLink: return ObjectType::kLink;
    case NodeKind::kFile: return ObjectType::kFile;
  }
  return ObjectType::kNull;
}

PathId new_object_id(Random& random, ObjectType type) {
  PathId id = new_path_id(random);
  id[kTypeAt] = static_cast<std::uint8_t>(static_cast<std::uint16_t>(type) >> 8);
  id[kTypeAt + 1] = static_cast<std::uint8_t>(type);
  return id;
}

ObjectType object_type(const PathId& id) {
  return static_cast<ObjectType>(id[kTypeAt] << 8 | id[kTypeAt + 1]);
}

std::string to_text(const PathId& id) {
  return fmt::format("{:x}-{:x}-{:x}-{:x}", part_of(id, 0), part_of(id, 1), part_of(id, 2),
                     part_of(id, 3));
}

Result<PathId> parse_object_id(std::string_view text) {
  PathId id{};
  std::string_view rest = text;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::uint32_t value = 0;
    const char* end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data(), end, value, 16);
    const bool last = part + 1 == kParts;
    if (error != std::errc{} || (last ? stop != end : stop == end || *stop != '-')) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("\"{}\" is no object id", text.substr(0, 64)));
    }
    set_part(id, part, value);
    if (!last) rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()) + 1);
  }
  return id;
}

}  // namespace moraine
