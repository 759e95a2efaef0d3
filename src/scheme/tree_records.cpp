#include "scheme/tree_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"
#include "base/sealed.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kSnapshotVersion = 2;
constexpr std::size_t kAttributeBytesMin = 2 * sizeof(std::uint32_t);
constexpr std::uint8_t kHasChildKey = 1;
constexpr std::uint8_t kHasAttributeKey = 2;
constexpr std::uint8_t kImplicit = 4;
constexpr std::uint8_t kAcquired = 8;

Encoder begin(std::uint8_t version = kVersion) {
  Encoder encoder;
  encoder.u8(version);
  return encoder;
}

void put_id(Encoder& encoder, const PathId& id) {
  encoder.raw(std::as_bytes(std::span(id)));
}

PathId take_id(Decoder& decoder) {
  PathId id{};
  const ByteSpan bytes = decoder.raw(id.size());
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(id)).begin());
  return id;
}

std::string take_text(Decoder& decoder) {
  return std::string(as_text(decoder.sized()));
}

void put_changes(Encoder& encoder, const AttributeChanges& changes) {
  encoder.u32(static_cast<std::uint32_t>(changes.size()));
  for (const auto& [name, value] : changes) {
    encoder.sized(name).flag(value.has_value()).sized(value ? *value : Slice());
  }
}

Result<AttributeChanges> take_changes(Decoder& decoder) {
  AttributeChanges changes;
  const std::uint32_t count = decoder.count(kAttributeBytesMin + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = take_text(decoder);
    const bool kept = decoder.flag();
    const ByteSpan value = decoder.sized();
    if (!changes.empty() && changes.rbegin()->first >= name) {
      return fail(Errc::kCorrupt, "changes of attributes out of order");
    }
    if (!kept && !value.empty()) return fail(Errc::kCorrupt, "a removed attribute has a value");
    changes.emplace(std::move(name), kept ? std::optional(Slice::copy_of(value)) : std::nullopt);
  }
  return changes;
}

void put_attributes(Encoder& encoder, const UserAttributes& attributes) {
  encoder.u32(static_cast<std::uint32_t>(attributes.size()));
  for (const auto& [name, value] : attributes) encoder.sized(name).sized(value);
}

Result<UserAttributes> take_attributes(Decoder& decoder) {
  UserAttributes attributes;
  const std::uint32_t count = decoder.count(kAttributeBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = take_text(decoder);
    if (!attributes.empty() && attributes.rbegin()->first >= name) {
      return fail(Errc::kCorrupt, "attributes of a transaction out of order");
    }
    attributes.emplace(std::move(name), Slice::copy_of(decoder.sized()));
  }
  return attributes;
}

Result<NodePtr> take_node(ByteSpan bytes) {
  TRY(PathNode node, decode_node(bytes));
  return std::make_shared<const PathNode>(std::move(node));
}

// The fields of a record, after its version.
Result<Decoder> open(ByteSpan bytes, std::string_view what, std::uint8_t wanted = kVersion) {
  TRY(const ByteSpan fields, unseal(bytes));
  Decoder decoder(fields);
  const std::uint8_t version = decoder.u8();
  if (version != wanted) {
    return fail(Errc::kUnsupported, fmt::format("{} version {}", what, version));
  }
  return decoder;
}

Result<void> finish(const Decoder& decoder, std::string_view what) {
  if (decoder.finished()) return {};
  return fail(Errc::kCorrupt, fmt::format("{} length", what));
}

}  // namespace

std::string_view to_string(LockMode mode) {
  switch (mode) {
    case LockMode::kSnapshot: return "snapshot";
    case LockMode::kShared: return "shared";
    case LockMode::kExclusive: return "exclusive";
  }
  return "unknown";
}

Slice encode(const TreeTransaction& transaction) {
  Encoder encoder = begin();
  put_id(encoder, transaction.id);
  put_id(encoder, transaction.parent.value_or(PathId{}));
  encoder.u64(transaction.created_ms).u64(transaction.timeout_ms).u64(transaction.deadline_ms);
  encoder.sized(transaction.user);
  put_attributes(encoder, transaction.attributes);
  return seal(std::move(encoder));
}

Result<TreeTransaction> decode_transaction(ByteSpan bytes) {
  TRY(Decoder decoder, open(bytes, "transaction"));
  TreeTransaction transaction;
  transaction.id = take_id(decoder);
  const PathId parent = take_id(decoder);
  if (parent != PathId{}) transaction.parent = parent;
  transaction.created_ms = decoder.u64();
  transaction.timeout_ms = decoder.u64();
  transaction.deadline_ms = decoder.u64();
  transaction.user = take_text(decoder);
  TRY(transaction.attributes, take_attributes(decoder));
  TRY_VOID(finish(decoder, "transaction"));
  return transaction;
}

Slice encode(const TreeEntry& entry) {
  Encoder encoder = begin();
  encoder.u8(static_cast<std::uint8_t>(entry.kind)).u64(entry.revision).u64(entry.modified_ms);
  encoder.flag(entry.record.has_value()).sized(entry.record ? *entry.record : Slice());
  put_changes(encoder, entry.attributes);
  put_changes(encoder, entry.system);
  encoder.sized(entry.made ? encode_node(*entry.made) : Slice());
  return seal(std::move(encoder));
}

Result<TreeEntry> decode_entry(ByteSpan bytes) {
  TRY(Decoder decoder, open(bytes, "entry"));
  TreeEntry entry;
  const std::uint8_t kind = decoder.u8();
  if (kind < 1 || kind > 3) return fail(Errc::kUnsupported, "kind of an entry");
  entry.kind = static_cast<TreeEntry::Kind>(kind);
  entry.revision = decoder.u64();
  entry.modified_ms = decoder.u64();
  const bool has_record = decoder.flag();
  const ByteSpan record = decoder.sized();
  if (!has_record && !record.empty()) return fail(Errc::kCorrupt, "record of an entry");
  if (has_record) entry.record = Slice::copy_of(record);
  TRY(entry.attributes, take_changes(decoder));
  TRY(entry.system, take_changes(decoder));
  const ByteSpan made = decoder.sized();
  TRY_VOID(finish(decoder, "entry"));
  if (made.empty() == (entry.kind == TreeEntry::Kind::kMade)) {
    return fail(Errc::kCorrupt, "node of an entry");
  }
  if (!made.empty()) {
    TRY(entry.made, take_node(made));
  }
  return entry;
}

Slice encode(const LockRecord& lock) {
  Encoder encoder = begin();
  put_id(encoder, lock.id);
  put_id(encoder, lock.transaction);
  put_id(encoder, lock.node);
  std::uint8_t flags = 0;
  if (lock.child_key) flags |= kHasChildKey;
  if (lock.attribute_key) flags |= kHasAttributeKey;
  if (lock.implicit) flags |= kImplicit;
  if (lock.acquired) flags |= kAcquired;
  encoder.u8(static_cast<std::uint8_t>(lock.mode)).u8(flags);
  encoder.u64(lock.created_ms).u64(lock.sequence);
  encoder.sized(lock.child_key.value_or("")).sized(lock.attribute_key.value_or(""));
  return seal(std::move(encoder));
}

Result<LockRecord> decode_lock(ByteSpan bytes) {
  TRY(Decoder decoder, open(bytes, "lock"));
  LockRecord lock;
  lock.id = take_id(decoder);
  lock.transaction = take_id(decoder);
  lock.node = take_id(decoder);
  const std::uint8_t mode = decoder.u8();
  const std::uint8_t flags = decoder.u8();
  lock.created_ms = decoder.u64();
  lock.sequence = decoder.u64();
  std::string child_key = take_text(decoder);
  std::string attribute_key = take_text(decoder);
  TRY_VOID(finish(decoder, "lock"));
  if (mode < 1 || mode > 3) return fail(Errc::kUnsupported, "mode of a lock");
  if (flags > 15) return fail(Errc::kUnsupported, "flags of a lock");
  const bool unnamed = ((flags & kHasChildKey) == 0 && !child_key.empty()) ||
                       ((flags & kHasAttributeKey) == 0 && !attribute_key.empty());
  if (unnamed) return fail(Errc::kCorrupt, "keys of a lock");
  lock.mode = static_cast<LockMode>(mode);
  if ((flags & kHasChildKey) != 0) lock.child_key = std::move(child_key);
  if ((flags & kHasAttributeKey) != 0) lock.attribute_key = std::move(attribute_key);
  lock.implicit = (flags & kImplicit) != 0;
  lock.acquired = (flags & kAcquired) != 0;
  return lock;
}

Slice encode(const TreeSnapshot& snapshot) {
  Encoder encoder = begin(kSnapshotVersion);
  encoder.sized(encode_node(*snapshot.node));
  encoder.u32(static_cast<std::uint32_t>(snapshot.children.size()));
  for (const auto& [name, id] : snapshot.children) {
    encoder.sized(name);
    put_id(encoder, id);
  }
  encoder.u64(snapshot.rows_before);
  return seal(std::move(encoder));
}

Result<TreeSnapshot> decode_snapshot(ByteSpan bytes) {
  const bool has_rows = !bytes.empty() && bytes[0] == std::byte{kSnapshotVersion};
  TRY(Decoder decoder, open(bytes, "snapshot", has_rows ? kSnapshotVersion : kVersion));
  TreeSnapshot snapshot;
  const ByteSpan node = decoder.sized();
  const std::uint32_t count = decoder.count(sizeof(std::uint32_t) + PathId().size());
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = take_text(decoder);
    snapshot.children.emplace_back(std::move(name), take_id(decoder));
  }
  if (has_rows) snapshot.rows_before = decoder.u64();
  TRY_VOID(finish(decoder, "snapshot"));
  TRY(snapshot.node, take_node(node));
  return snapshot;
}

Slice encode(const MutationRecord& mutation) {
  Encoder encoder = begin();
  put_id(encoder, mutation.id);
  encoder.u64(mutation.created_ms).sized(mutation.result);
  return seal(std::move(encoder));
}

Result<MutationRecord> decode_mutation(ByteSpan bytes) {
  TRY(Decoder decoder, open(bytes, "mutation"));
  MutationRecord mutation;
  mutation.id = take_id(decoder);
  mutation.created_ms = decoder.u64();
  mutation.result = Slice::copy_of(decoder.sized());
  TRY_VOID(finish(decoder, "mutation"));
  return mutation;
}

}  // namespace moraine
