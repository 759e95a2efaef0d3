#include "blob/vdisk/records.h"

#include <fmt/format.h>

#include "base/coding.h"

namespace moraine::blob {
namespace {

constexpr std::uint8_t kFactsVersion = 1;
constexpr std::uint8_t kMetaVersion = 1;
constexpr std::size_t kFactBytesMin = 13;
constexpr std::size_t kNeighbourBytes = 13;

enum FactTag : std::uint8_t {
  kBlobTag = 1,
  kBlockTag = 2,
  kBarrierTag = 3,
  kPositionTag = 4,
  kClaimTag = 5,
};

void encode_blob_id(Encoder& encoder, const BlobId& id) {
  std::array<std::byte, kBlobIdBytes> bytes;
  id.encode(bytes.data());
  encoder.raw(bytes);
}

BlobId decode_blob_id(Decoder& decoder) {
  const ByteSpan bytes = decoder.raw(kBlobIdBytes);
  return bytes.empty() ? BlobId() : BlobId::decode(bytes.data());
}

struct FactEncoder {
  Encoder& encoder;
  void operator()(const BlobFact& fact) {
    encoder.u8(kBlobTag);
    encode_blob_id(encoder, fact.id);
    encoder.u32(fact.ingress.bits);
  }
  void operator()(const BlockFact& fact) {
    encoder.u8(kBlockTag).u64(fact.tablet.value).u32(fact.generation);
  }
  void operator()(const BarrierFact& fact) {
    encoder.u8(kBarrierTag).u64(fact.tablet.value).u8(fact.channel).flag(fact.hard);
    encoder.u32(fact.record_generation).u32(fact.counter);
    encoder.u32(fact.barrier.generation).u32(fact.barrier.step).u32(fact.seen);
  }
  void operator()(const SyncPosition& fact) {
    encoder.u8(kPositionTag).u32(fact.order).u64(fact.log).u64(fact.position);
  }
  void operator()(const ClaimFact& fact) {
    encoder.u8(kClaimTag);
    encode_blob_id(encoder, fact.id);
  }
};

Result<Fact> decode_fact(Decoder& decoder) {
  const std::uint8_t tag = decoder.u8();
  switch (tag) {
    case kBlobTag: {
      BlobFact fact;
      fact.id = decode_blob_id(decoder);
      fact.ingress.bits = decoder.u32();
      return fact;
    }
    case kBlockTag: {
      BlockFact fact;
      fact.tablet.value = decoder.u64();
      fact.generation = decoder.u32();
      return fact;
    }
    case kBarrierTag: {
      BarrierFact fact;
      fact.tablet.value = decoder.u64();
      fact.channel = decoder.u8();
      fact.hard = decoder.flag();
      fact.record_generation = decoder.u32();
      fact.counter = decoder.u32();
      fact.barrier.generation = decoder.u32();
      fact.barrier.step = decoder.u32();
      fact.seen = decoder.u32();
      return fact;
    }
    case kPositionTag: {
      SyncPosition fact;
      fact.order = decoder.u32();
      fact.log = decoder.u64();
      fact.position = decoder.u64();
      return fact;
    }
    case kClaimTag: return ClaimFact{decode_blob_id(decoder)};
    default: return fail(Errc::kCorrupt, fmt::format("unknown fact tag {}", tag));
  }
}

}  // namespace

SmallBytes encode_put(const PutRecord& record) {
  std::array<std::byte, kBlobIdBytes + 12> bytes;
  record.id.encode(bytes.data());
  store(bytes.data() + kBlobIdBytes, record.ingress.bits);
  store(bytes.data() + kBlobIdBytes + 4, record.lsn);
  return SmallBytes(bytes);
}

Result<PutRecord> decode_put(ByteSpan bytes) {
  Decoder decoder(bytes);
  PutRecord record;
  record.id = decode_blob_id(decoder);
  record.ingress.bits = decoder.u32();
  record.lsn = decoder.u64();
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong length of a put record");
  return record;
}

SmallBytes encode_id(const BlobId& id) {
  std::array<std::byte, kBlobIdBytes> bytes;
  id.encode(bytes.data());
  return SmallBytes(bytes);
}

Result<BlobId> decode_id(ByteSpan bytes) {
  if (bytes.size() != kBlobIdBytes) return fail(Errc::kCorrupt, "wrong length of an id record");
  return BlobId::decode(bytes.data());
}

SmallBytes encode_facts(const FactsRecord& record) {
  Encoder encoder;
  encoder.u8(kFactsVersion).u64(record.lsn);
  encoder.u32(static_cast<std::uint32_t>(record.facts.size()));
  for (const Fact& fact : record.facts) std::visit(FactEncoder{encoder}, fact);
  return SmallBytes(encoder.span());
}

Result<FactsRecord> decode_facts(ByteSpan bytes) {
  Decoder decoder(bytes);
  if (decoder.u8() != kFactsVersion) {
    return fail(Errc::kCorrupt, "unknown version of a facts record");
  }
  FactsRecord record;
  record.lsn = decoder.u64();
  const std::uint32_t count = decoder.count(kFactBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(Fact fact, decode_fact(decoder));
    record.facts.push_back(std::move(fact));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong length of a facts record");
  return record;
}

SmallBytes encode_meta(const MetaState& meta) {
  Encoder encoder;
  encoder.u8(kMetaVersion).flag(meta.config.has_value());
  if (meta.config) encoder.sized(meta.config->encode());
  encoder.u32(meta.order).u8(static_cast<std::uint8_t>(meta.state)).u64(meta.guid);
  encoder.u32(static_cast<std::uint32_t>(meta.neighbours.size()));
  for (const auto& [order, neighbour] : meta.neighbours) {
    encoder.u32(order).u8(static_cast<std::uint8_t>(neighbour.state)).u64(neighbour.guid);
  }
  return SmallBytes(encoder.span());
}

Result<MetaState> decode_meta_state(ByteSpan bytes) {
  Decoder decoder(bytes);
  if (decoder.u8() != kMetaVersion) return fail(Errc::kCorrupt, "unknown version of a meta record");
  MetaState meta;
  if (decoder.flag()) {
    TRY(meta.config, GroupConfig::decode(decoder.sized()));
  }
  meta.order = decoder.u32();
  const std::uint8_t state = decoder.u8();
  if (state > static_cast<std::uint8_t>(LocalState::kRetired)) {
    return fail(Errc::kCorrupt, "unknown state in a meta record");
  }
  meta.state = static_cast<LocalState>(state);
  meta.guid = decoder.u64();
  const std::uint32_t count = decoder.count(kNeighbourBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t order = decoder.u32();
    const std::uint8_t neighbour = decoder.u8();
    if (neighbour > static_cast<std::uint8_t>(GuidState::kFinal)) {
      return fail(Errc::kCorrupt, "unknown neighbour state in a meta record");
    }
    meta.neighbours[order] = {static_cast<GuidState>(neighbour), decoder.u64()};
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong length of a meta record");
  return meta;
}

}  // namespace moraine::blob
