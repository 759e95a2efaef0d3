// The state as pages of a checkpoint.
//
//   page  = version u8 = 2  stage u8  body
//   meta  (stage 0) = lsn u64, MetaState
//   blobs (stage 1) = count u32, each: id (25) ingress u32 marks u8 parts u8,
//                     each part: part u8 segment u32 offset u32 crc u32
//                     marks: bit 0 not_mine, bit 1 claimed
//   facts (stage 2) = FactsRecord: blocks, barriers, positions

#include <bit>

#include "base/coding.h"
#include "base/invariant.h"
#include "blob/device/owner.h"
#include "blob/vdisk/state.h"

namespace moraine::blob {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kNotMineMark = 1;
constexpr std::uint8_t kClaimedMark = 2;
// Commits wait while a page is encoded and written.
constexpr std::size_t kBlobPageBytes = 32u << 10;
constexpr std::size_t kEntryBytesMin = 30;
constexpr std::size_t kEntryBytesMax = kEntryBytesMin + kPartsMax * 13;
static_assert(kBlobPageBytes + kEntryBytesMax + 16 <= kCheckpointChunkMax);
enum Stage : std::uint8_t { kMetaStage = 0, kBlobStage = 1, kFactStage = 2, kEnd = 3 };

}  // namespace

std::optional<Slice> VDiskState::checkpoint_page(Cursor& cursor) const {
  switch (cursor.stage) {
    case kMetaStage: {
      Encoder encoder;
      encoder.u8(kVersion).u8(kMetaStage).u64(last_lsn_).raw(encode_meta(meta_).span());
      cursor.stage = kBlobStage;
      return encoder.slice();
    }
    case kBlobStage: return blob_page(cursor);
    case kFactStage: return fact_page(cursor);
    default: return std::nullopt;
  }
}

// Commits wait while a page is encoded: only the entry is read where it has everything.
void VDiskState::put_parts(Encoder& body, const BlobId& id, const BlobEntry& entry) const {
  if (!index_.has_extra_parts()) {
    body.u8(entry.part == 0 ? 0 : 1);
    if (entry.part == 0) return;
    body.u8(entry.part).u32(entry.segment).u32(entry.offset).u32(entry.crc);
    return;
  }
  const std::uint8_t parts = index_.local_parts(id);
  body.u8(static_cast<std::uint8_t>(std::popcount(parts)));
  for (std::uint32_t part = 1; part <= kPartsMax; ++part) {
    if ((parts >> (part - 1) & 1) == 0) continue;
    const auto location = index_.locate(id.with_part(part));
    INVARIANT(location, "{} lost its part {}", id.to_string(), part);
    body.u8(static_cast<std::uint8_t>(part)).u32(location->segment).u32(location->offset);
    body.u32(location->crc);
  }
}

Slice VDiskState::blob_page(Cursor& cursor) const {
  Encoder body;
  std::uint32_t count = 0;
  const BlobId* last = nullptr;
  auto at = cursor.after ? index_.entries().upper_bound(*cursor.after) : index_.entries().begin();
  for (; at != index_.entries().end() && body.size() < kBlobPageBytes; ++at) {
    const auto& [id, entry] = *at;
    std::array<std::byte, kBlobIdBytes> id_bytes;
    id.encode(id_bytes.data());
    const int marks =
        (entry.not_mine != 0 ? kNotMineMark : 0) | (entry.claimed != 0 ? kClaimedMark : 0);
    body.raw(id_bytes).u32(entry.ingress.bits).u8(static_cast<std::uint8_t>(marks));
    put_parts(body, id, entry);
    last = &id;
    ++count;
  }
  if (last != nullptr) cursor.after = *last;
  if (at == index_.entries().end()) {
    cursor.stage = kFactStage;
    cursor.facts = standing_facts();
  }
  Encoder encoder;
  encoder.u8(kVersion).u8(kBlobStage).u32(count).raw(body.span());
  return encoder.slice();
}

std::vector<Fact> VDiskState::standing_facts() const {
  std::vector<Fact> facts;
  for (const auto& [tablet, generation] : blocks_) facts.push_back(BlockFact{tablet, generation});
  for (const auto& [key, sequence] : barriers_.all()) {
    for (const auto& [record_key, record] : sequence.records) {
      facts.push_back(Barriers::fact_of(key, record_key, record));
    }
  }
  for (const auto& [order, position] : positions_) facts.push_back(position);
  return facts;
}

Slice VDiskState::fact_page(Cursor& cursor) const {
  FactsRecord record;
  record.lsn = last_lsn_;
  const std::size_t count = std::min(cursor.facts.size(), kFactsPerRecordMax);
  record.facts.assign(cursor.facts.end() - static_cast<std::ptrdiff_t>(count), cursor.facts.end());
  cursor.facts.resize(cursor.facts.size() - count);
  if (cursor.facts.empty()) cursor.stage = kEnd;
  Encoder encoder;
  encoder.u8(kVersion).u8(kFactStage).raw(encode_facts(record).span());
  return encoder.slice();
}

Result<void> VDiskState::restore_page(ByteSpan page) {
  Decoder decoder(page);
  const std::uint8_t version = decoder.u8();
  if (version != kVersion) {
    return fail(Errc::kCorrupt, fmt::format("unknown version {} of a checkpoint page", version));
  }
  const std::uint8_t stage = decoder.u8();
  if (stage == kMetaStage) {
    const std::uint64_t lsn = decoder.u64();
    TRY(MetaState meta, decode_meta_state(decoder.raw(decoder.remaining())));
    apply_meta(std::move(meta));
    note_lsn(lsn);
    sync_log_.start_after(lsn);
    return {};
  }
  if (!configured()) return fail(Errc::kCorrupt, "checkpoint page before its meta page");
  if (stage == kBlobStage) return restore_blobs(decoder.raw(decoder.remaining()));
  if (stage != kFactStage) {
    return fail(Errc::kCorrupt, fmt::format("unknown checkpoint stage {}", stage));
  }
  TRY(FactsRecord record, decode_facts(decoder.raw(decoder.remaining())));
  const std::uint64_t lsn = std::exchange(record.lsn, 0);  // Nothing new for the neighbours.
  apply_facts(record);
  note_lsn(lsn);
  return {};
}

Result<void> VDiskState::restore_blobs(ByteSpan bytes) {
  Decoder decoder(bytes);
  const std::uint32_t count = decoder.count(kEntryBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ByteSpan id_bytes = decoder.raw(kBlobIdBytes);
    if (id_bytes.empty()) break;
    const BlobId id = BlobId::decode(id_bytes.data());
    if (id.part() != 0) return fail(Errc::kCorrupt, "a checkpoint entry has a part number");
    BlobEntry& entry = index_.ensure(id);
    entry.ingress = merge(entry.ingress, Ingress{decoder.u32()});
    const std::uint8_t marks = decoder.u8();
    if ((marks & ~(kNotMineMark | kClaimedMark)) != 0) {
      return fail(Errc::kCorrupt, "unknown marks in a checkpoint entry");
    }
    entry.claimed = (marks & kClaimedMark) != 0 ? 1 : 0;
    const std::uint8_t parts = decoder.u8();
    for (std::uint8_t p = 0; p < parts; ++p) {
      const std::uint8_t part = decoder.u8();
      Location location;
      location.segment = decoder.u32();
      location.offset = decoder.u32();
      location.crc = decoder.u32();
      location.size = stored_part_size(geometry().species(), id.size());
      if (decoder.failed() || part == 0 || part > kPartsMax || !index_.fits(location)) {
        return fail(Errc::kCorrupt, "invalid location in a checkpoint entry");
      }
      index_.set_part(id.with_part(part), location, false);
    }
    if (parts == 0 && (marks & kNotMineMark) != 0) index_.ensure(id).not_mine = 1;
    review(id);
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong length of a checkpoint blob page");
  return {};
}

}  // namespace moraine::blob
