#include "scheme/path_node.h"

#include <algorithm>

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/path.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDirectory: return "directory";
    case NodeKind::kTopic: return "topic";
    case NodeKind::kTable: return "table";
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

Slice encode_node(const PathNode& node) {
  Encoder encoder;
  encoder.u8(kVersion).u8(static_cast<std::uint8_t>(node.kind));
  encoder.raw(std::as_bytes(std::span(node.id))).u64(node.created_ms);
  encoder.sized(node.path).sized(node.attributes);
  return seal(std::move(encoder));
}

Result<PathNode> decode_node(ByteSpan bytes) {
  TRY(const ByteSpan record, unseal(bytes));
  Decoder decoder(record);
  if (decoder.u8() != kVersion) return fail(Errc::kUnsupported, "node version");
  PathNode node;
  const std::uint8_t kind = decoder.u8();
  if (kind < 1 || kind > 3) return fail(Errc::kUnsupported, "node kind");
  node.kind = static_cast<NodeKind>(kind);
  const ByteSpan id = decoder.raw(node.id.size());
  node.created_ms = decoder.u64();
  node.path = as_text(decoder.sized());
  const ByteSpan attributes = decoder.sized();
  if (!decoder.finished()) return fail(Errc::kCorrupt, "node length");
  if (attributes.size() > kAttributesBytesMax) return fail(Errc::kCorrupt, "node attributes");
  if (const auto checked = check_path(node.path); !checked) {
    return fail(Errc::kCorrupt, checked.error().context);
  }
  std::ranges::copy(id, std::as_writable_bytes(std::span(node.id)).begin());
  node.attributes = Slice::copy_of(attributes);
  return node;
}

}  // namespace moraine
