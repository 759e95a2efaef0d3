#include "blob/device/format.h"

#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kSuperblockMagic = 0x444e524d;  // "MRND"
constexpr std::uint32_t kRootMagic = 0x524e524d;        // "MRNR"
constexpr std::uint16_t kVersion = 2;                   // 1 had blob ids of 24 bytes.
constexpr std::uint16_t kManifestVersion = 2;
constexpr std::uint16_t kManifestVersionFirst = 1;  // Still read.
constexpr std::size_t kChunkBytes = 17;
constexpr std::size_t kSegmentStateBytes = 13;
constexpr std::size_t kSegmentStateBytesFirst = 9;
constexpr std::uint64_t kManifestBytesPerSegment = 16;
constexpr std::uint64_t kManifestSlack = 64u << 10;
constexpr std::uint8_t kUsedFlag = 1;
constexpr std::uint8_t kWrittenFlag = 2;
constexpr std::uint8_t kHolesFlag = 4;

Slice sealed_sector(Encoder& encoder) {
  encoder.u32(crc32c(encoder.span()));
  Buffer sector = Buffer::zeroed(kSectorSize);
  std::memcpy(sector.data(), encoder.span().data(), encoder.size());
  return std::move(sector).freeze();
}

// The checksum that follows the fields read so far.
bool checksum_holds(ByteSpan sector, Decoder& decoder) {
  const std::uint32_t expected = crc32c(sector.first(decoder.position()));
  return decoder.u32() == expected && !decoder.failed();
}

void encode_location(Encoder& encoder, const Location& location) {
  encoder.u32(location.segment).u32(location.offset).u32(location.size).u32(location.crc);
}

Location decode_location(Decoder& decoder) {
  Location location;
  location.segment = decoder.u32();
  location.offset = decoder.u32();
  location.size = decoder.u32();
  location.crc = decoder.u32();
  return location;
}

}  // namespace

Result<Superblock> plan_superblock(std::uint64_t size, std::uint32_t segment_bytes) {
  if (segment_bytes < kSegmentBytesMin || segment_bytes > kSegmentBytesMax ||
      segment_bytes % kSectorSize != 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("segment size {} is not a multiple of {} from {} to {}", segment_bytes,
                            kSectorSize, kSegmentBytesMin, kSegmentBytesMax));
  }
  const std::uint64_t room = size > kSegmentsOffset ? size - kSegmentsOffset : 0;
  const std::uint64_t segments = room / segment_bytes;
  if (segments < kSegmentsMin) {
    const std::uint64_t least = kSegmentsOffset + std::uint64_t{kSegmentsMin} * segment_bytes;
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} bytes are too few: with segments of {} bytes a device needs at least {}",
                    size, segment_bytes, least));
  }
  if (segments > kSegmentsMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} bytes are too many: with segments of {} bytes a device has at most "
                            "{}",
                            size, segment_bytes,
                            kSegmentsOffset + std::uint64_t{kSegmentsMax} * segment_bytes));
  }
  // The manifest is one record: it must fit into a segment with space left.
  if (segments * kManifestBytesPerSegment + kManifestSlack > segment_bytes) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} segments are too many for segments of {} bytes: use a larger segment size",
                    segments, segment_bytes));
  }
  return Superblock{0, size, segment_bytes, static_cast<std::uint32_t>(segments)};
}

bool has_superblock_magic(ByteSpan sector) {
  return Decoder(sector).u32() == kSuperblockMagic;
}

Slice encode_superblock(const Superblock& superblock) {
  Encoder encoder;
  encoder.u32(kSuperblockMagic).u16(kVersion).u16(0).u64(superblock.device).u64(superblock.size);
  encoder.u32(superblock.segment_bytes).u32(superblock.segments);
  return sealed_sector(encoder);
}

Result<Superblock> decode_superblock(ByteSpan sector) {
  Decoder decoder(sector);
  if (decoder.u32() != kSuperblockMagic) return fail(Errc::kCorrupt, "not a moraine device");
  const std::uint16_t version = decoder.u16();
  if (version != kVersion) {
    return fail(Errc::kUnsupported,
                fmt::format("device format version {}; this program reads version {} only: use the "
                            "version of moraine that formatted the device",
                            version, kVersion));
  }
  decoder.u16();
  Superblock superblock;
  superblock.device = decoder.u64();
  superblock.size = decoder.u64();
  superblock.segment_bytes = decoder.u32();
  superblock.segments = decoder.u32();
  if (!checksum_holds(sector, decoder)) {
    return fail(Errc::kCorrupt, "superblock checksum does not match");
  }
  const auto plan = plan_superblock(superblock.size, superblock.segment_bytes);
  if (!plan || plan->segments != superblock.segments) {
    return fail(Errc::kCorrupt, "superblock fields contradict each other");
  }
  return superblock;
}

Slice encode_root(const Root& root) {
  Encoder encoder;
  encoder.u32(kRootMagic).u16(kVersion).u16(0).u64(root.device).u64(root.sequence);
  encoder.flag(root.clean).u64(root.last_sequence).u64(root.last_epoch).u32(root.run);
  encoder.u32(root.tail_segment).u32(root.tail_sector);
  encode_location(encoder, root.manifest);
  return sealed_sector(encoder);
}

std::optional<Root> decode_root(ByteSpan sector) {
  Decoder decoder(sector);
  if (decoder.u32() != kRootMagic || decoder.u16() != kVersion) return std::nullopt;
  decoder.u16();
  Root root;
  root.device = decoder.u64();
  root.sequence = decoder.u64();
  root.clean = decoder.flag();
  root.last_sequence = decoder.u64();
  root.last_epoch = decoder.u64();
  root.run = decoder.u32();
  root.tail_segment = decoder.u32();
  root.tail_sector = decoder.u32();
  root.manifest = decode_location(decoder);
  if (!checksum_holds(sector, decoder)) return std::nullopt;
  return root;
}

std::uint64_t root_pair_offset(std::uint64_t sequence) {
  return (kSuperblockCopies + sequence % 2 * 2) * kSectorSize;
}

Slice encode_manifest(const Manifest& manifest) {
  Encoder encoder;
  encoder.u16(kManifestVersion).u64(manifest.start_sequence).u64(manifest.start_epoch);
  encoder.u32(manifest.start_run);
  encoder.u32(static_cast<std::uint32_t>(manifest.chunks.size()));
  for (const Manifest::Chunk& chunk : manifest.chunks) {
    encoder.u8(chunk.owner);
    encode_location(encoder, chunk.location);
  }
  encoder.u32(static_cast<std::uint32_t>(manifest.segments.size()));
  for (const Manifest::SegmentState& segment : manifest.segments) {
    encoder.u64(segment.epoch);
    encoder.u8(static_cast<std::uint8_t>((segment.used ? kUsedFlag : 0) |
                                         (segment.written ? kWrittenFlag : 0) |
                                         (segment.holes ? kHolesFlag : 0)));
    encoder.u32(segment.sectors.value_or(0));
  }
  return encoder.slice();
}

Result<Manifest> decode_manifest(ByteSpan bytes) {
  Decoder decoder(bytes);
  const std::uint16_t version = decoder.u16();
  if (version < kManifestVersionFirst || version > kManifestVersion) {
    return fail(Errc::kCorrupt, "unknown manifest version");
  }
  const bool first = version == kManifestVersionFirst;
  const std::uint8_t flags_max = kUsedFlag | kWrittenFlag | (first ? 0 : kHolesFlag);
  Manifest manifest;
  manifest.start_sequence = decoder.u64();
  manifest.start_epoch = decoder.u64();
  manifest.start_run = decoder.u32();
  const std::uint32_t chunks = decoder.count(kChunkBytes);
  for (std::uint32_t i = 0; i < chunks; ++i) {
    const OwnerSlot owner = decoder.u8();
    manifest.chunks.push_back({owner, decode_location(decoder)});
  }
  const std::uint32_t segments =
      decoder.count(first ? kSegmentStateBytesFirst : kSegmentStateBytes);
  for (std::uint32_t i = 0; i < segments; ++i) {
    const std::uint64_t epoch = decoder.u64();
    const std::uint8_t flags = decoder.u8();
    if (flags > flags_max) return fail(Errc::kCorrupt, "unknown segment flags in the manifest");
    Manifest::SegmentState state;
    state.epoch = epoch;
    state.used = (flags & kUsedFlag) != 0;
    state.written = (flags & kWrittenFlag) != 0;
    state.holes = (flags & kHolesFlag) != 0;
    if (!first) state.sectors = decoder.u32();
    manifest.segments.push_back(state);
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "wrong manifest length");
  return manifest;
}

}  // namespace moraine::blob
