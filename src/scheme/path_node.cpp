#include "scheme/path_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/path.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::uint8_t kVersionWithoutTimes = 2;
constexpr std::uint8_t kVersionWithoutAttributes = 1;
constexpr std::size_t kAttributeBytesMin = 2 * sizeof(std::uint32_t);

void append_attributes(Encoder& encoder, const UserAttributes& attributes) {
  encoder.u32(static_cast<std::uint32_t>(attributes.size()));
  for (const auto& [name, value] : attributes) encoder.sized(name).sized(value);
}

Result<UserAttributes> take_attributes(Decoder& decoder) {
  UserAttributes attributes;
  const std::uint32_t count = decoder.count(kAttributeBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name(as_text(decoder.sized()));
    if (!attributes.empty() && attributes.rbegin()->first >= name) {
      return fail(Errc::kCorrupt, "attributes of a node out of order");
    }
    attributes.emplace(std::move(name), Slice::copy_of(decoder.sized()));
  }
  if (const auto checked = check_attributes(attributes); !checked) {
    return fail(Errc::kCorrupt, checked.error().context);
  }
  return attributes;
}

}  // namespace

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDirectory: return "directory";
    case NodeKind::kTopic: return "topic";
    case NodeKind::kTable: return "table";
    case NodeKind::kDocument: return "document";
    case NodeKind::kString: return "string";
    case NodeKind::kInt64: return "int64";
    case NodeKind::kUint64: return "uint64";
    case NodeKind::kDouble: return "double";
    case NodeKind::kBoolean: return "boolean";
    case NodeKind::kLink: return "link";
    case NodeKind::kFile: return "file";
  }
  return "unknown";
}

PathId new_path_id(Random& random) {
  PathId id;
  for (std::size_t at = 0; at < id.size(); at += sizeof(std::uint64_t)) {
    store(reinterpret_cast<std::byte*>(id.data()) + at, random.next());
  }
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

Result<void> check_attributes(const UserAttributes& attributes) {
  if (attributes.size() > kUserAttributesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{} attributes; a node has at most {}",
                                                    attributes.size(), kUserAttributesMax));
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : attributes) {
    if (name.empty()) return fail(Errc::kInvalidArgument, "an attribute has an empty name");
    if (name.size() > kAttributeNameBytesMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the name of an attribute has {} bytes, more than {}", name.size(),
                              kAttributeNameBytesMax));
    }
    bytes += name.size() + value.size();
  }
  if (bytes > kUserAttributesBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("the attributes of a node have {} bytes, more than {}", bytes,
                            kUserAttributesBytesMax));
  }
  return {};
}

Slice encode_node(const PathNode& node) {
  Encoder encoder;
  encoder.u8(kVersion).u8(static_cast<std::uint8_t>(node.kind));
  encoder.raw(std::as_bytes(std::span(node.id))).u64(node.created_ms);
  encoder.sized(node.path).sized(node.record);
  append_attributes(encoder, node.attributes);
  encoder.u64(node.modified_ms).u64(node.touched_ms).u64(node.revision);
  append_attributes(encoder, node.system);
  return seal(std::move(encoder));
}

Result<PathNode> decode_node(ByteSpan bytes) {
  TRY(const ByteSpan fields, unseal(bytes));
  Decoder decoder(fields);
  const std::uint8_t version = decoder.u8();
  if (version < kVersionWithoutAttributes || version > kVersion) {
    return fail(Errc::kUnsupported, fmt::format("node version {}", version));
  }
  PathNode node;
  const std::uint8_t kind = decoder.u8();
  if (kind < 1 || kind > kNodeKindLast) return fail(Errc::kUnsupported, "node kind");
  node.kind = static_cast<NodeKind>(kind);
  const ByteSpan id = decoder.raw(node.id.size());
  node.created_ms = decoder.u64();
  node.path = as_text(decoder.sized());
  const ByteSpan record = decoder.sized();
  if (version != kVersionWithoutAttributes) {
    TRY(node.attributes, take_attributes(decoder));
  }
  if (version > kVersionWithoutTimes) {
    node.modified_ms = decoder.u64();
    node.touched_ms = decoder.u64();
    node.revision = decoder.u64();
    TRY(node.system, take_attributes(decoder));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "node length");
  if (record.size() > kRecordBytesMax) return fail(Errc::kCorrupt, "node record");
  if (const auto checked = check_stored_path(node.path); !checked) {
    return fail(Errc::kCorrupt, checked.error().context);
  }
  std::ranges::copy(id, std::as_writable_bytes(std::span(node.id)).begin());
  node.record = Slice::copy_of(record);
  return node;
}

}  // namespace moraine
