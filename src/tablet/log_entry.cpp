#include "tablet/log_entry.h"

#include <lz4.h>

#include <cstring>
#include <span>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/field_writer.h"
#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::uint8_t kMagic = 0x4c;
constexpr std::uint8_t kFirstVersion = 1;        // Read only: bodies are not packed.
constexpr std::uint8_t kOneInFlightVersion = 2;  // Read only: no entry before it is unconfirmed.
constexpr std::uint8_t kVersion = 3;
constexpr std::size_t kHeadBytes = 41;  // All fields but ids and bodies.
// Of packed bodies: packing, size of the bodies, size of the packed ones.
constexpr std::size_t kPackedFieldBytes = 9;
constexpr std::size_t kLz4RatioMax = 255;
constexpr std::size_t kLz4Slack = 64;

enum class Packing : std::uint8_t { kNone = 0, kLz4 = 1 };

void write(ChainWriter& writer, GenStep at) {
  writer.u32(at.generation).u32(at.step);
}

GenStep take_gen_step(Decoder& decoder) {
  GenStep at;
  at.generation = decoder.u32();
  at.step = decoder.u32();
  return at;
}

// The checksum of bytes that end in their own checksum.
std::uint32_t with_itself(std::uint32_t checksum) {
  return crc32c(std::as_bytes(std::span(&checksum, 1)), checksum);
}

// All fields before the packing.
void write_head(ChainWriter& writer, const LogEntry& entry) {
  writer.u8(kMagic).u8(kVersion).u8(static_cast<std::uint8_t>(entry.kind));
  write(writer, entry.snapshot);
  write(writer, entry.previous);
  write(writer, entry.needed);
  writer.u8(entry.unconfirmed);
  writer.u32(static_cast<std::uint32_t>(entry.references.size()));
  for (const BlobId& id : entry.references) id.encode(writer.skip(blob::kBlobIdBytes));
}

// The entry with packed bodies; `plain` are the bodies as they are. Empty when packing does not
// make them smaller.
ByteChain encode_packed(ByteSpan head, ByteSpan plain) {
  const std::size_t most = plain.size() - plain.size() / 16;
  Buffer buffer(head.size() + kPackedFieldBytes + most + sizeof(std::uint32_t));
  std::byte* const packed = buffer.data() + head.size() + kPackedFieldBytes;
  const int size = LZ4_compress_default(reinterpret_cast<const char*>(plain.data()),
                                        reinterpret_cast<char*>(packed),
                                        static_cast<int>(plain.size()), static_cast<int>(most));
  if (size <= 0) return {};
  std::memcpy(buffer.data(), head.data(), head.size());
  FieldWriter writer(buffer.data() + head.size());
  writer.u8(static_cast<std::uint8_t>(Packing::kLz4));
  writer.u32(static_cast<std::uint32_t>(plain.size())).u32(static_cast<std::uint32_t>(size));
  const std::size_t covered = head.size() + kPackedFieldBytes + static_cast<std::size_t>(size);
  const std::uint32_t checksum = crc32c(buffer.span().first(covered));
  store(buffer.data() + covered, checksum);
  ByteChain entry = std::move(buffer).freeze().sub(0, covered + sizeof(checksum));
  entry.set_checksum(with_itself(checksum));
  return entry;
}

Result<Slice> unpack(ByteSpan packed, std::size_t size) {
  if (size > kEntryBytesMax || size > packed.size() * kLz4RatioMax + kLz4Slack) {
    return fail(Errc::kCorrupt, "log entry: the size of its bodies is invalid");
  }
  Buffer plain(size);
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                      reinterpret_cast<char*>(plain.data()),
                                      static_cast<int>(packed.size()), static_cast<int>(size));
  if (got < 0 || static_cast<std::size_t>(got) != size) {
    return fail(Errc::kCorrupt, "log entry: its packed bodies are invalid");
  }
  return std::move(plain).freeze();
}

// `from` has the bytes that `decoder` reads.
void take_bodies(Decoder& decoder, const Slice& from, LogEntry& entry) {
  const std::uint32_t bodies = decoder.count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < bodies; ++i) {
    const ByteSpan body = decoder.sized();
    if (decoder.failed()) return;
    const std::size_t at = decoder.position() - body.size();
    entry.bodies.push_back(from.sub(at, body.size()));
  }
}

Result<void> take_packed_bodies(Decoder& decoder, LogEntry& entry) {
  const std::uint32_t size = decoder.u32();
  const ByteSpan packed = decoder.sized();
  if (decoder.failed()) return fail(Errc::kCorrupt, "log entry has a wrong length");
  TRY(const Slice plain, unpack(packed, size));
  Decoder inner(plain.span());
  take_bodies(inner, plain, entry);
  if (!inner.finished()) return fail(Errc::kCorrupt, "log entry: its bodies have a wrong length");
  return {};
}

}  // namespace

std::size_t unpacked_bytes(const LogEntry& entry) {
  std::size_t bytes = kHeadBytes + entry.references.size() * blob::kBlobIdBytes;
  for (const ByteChain& body : entry.bodies) bytes += sizeof(std::uint32_t) + body.size();
  return bytes;
}

ByteChain encode(const LogEntry& entry) {
  const std::size_t unpacked = unpacked_bytes(entry);
  INVARIANT(unpacked <= kEntryBytesMax, "a log entry of {} bytes", unpacked);
  const bool is_long = unpacked >= kPackedBodiesMin && !entry.bodies.empty();
  std::size_t block = unpacked;
  for (const ByteChain& body : entry.bodies) {
    if (!is_long) block -= body.size() - ChainWriter::copied_bytes(body);
  }
  ChainWriter writer(block,
                     is_long ? ChainWriter::Slices::kCopied : ChainWriter::Slices::kReferenced);
  write_head(writer, entry);
  const std::size_t head = writer.block().size();
  writer.u8(static_cast<std::uint8_t>(Packing::kNone));
  writer.u32(static_cast<std::uint32_t>(entry.bodies.size()));
  for (const ByteChain& body : entry.bodies) writer.sized(body);
  if (is_long) {
    const ByteSpan written = writer.block();
    ByteChain packed = encode_packed(written.first(head), written.subspan(head + 1));
    if (!packed.empty()) return packed;
  }
  const std::uint32_t checksum = writer.checksum();
  ByteChain bytes = std::move(writer.u32(checksum)).finish();
  INVARIANT(bytes.size() == unpacked, "an entry of {} bytes, not {}", bytes.size(), unpacked);
  bytes.set_checksum(with_itself(checksum));
  return bytes;
}

Result<LogEntry> decode_log_entry(const Slice& bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return fail(Errc::kCorrupt, "log entry is truncated");
  const std::size_t covered = bytes.size() - sizeof(std::uint32_t);
  if (crc32c(bytes.span().first(covered)) != load<std::uint32_t>(bytes.data() + covered)) {
    return fail(Errc::kCorrupt, "log entry checksum does not match");
  }
  Decoder decoder(bytes.span().first(covered));
  if (decoder.u8() != kMagic) return fail(Errc::kCorrupt, "not a log entry");
  const std::uint8_t version = decoder.u8();
  if (version < kFirstVersion || version > kVersion) {
    return fail(Errc::kUnsupported, "log entry has an unknown version");
  }
  LogEntry entry;
  const std::uint8_t kind = decoder.u8();
  if (kind < 1 || kind > 3) return fail(Errc::kCorrupt, "log entry has an unknown kind");
  entry.kind = static_cast<EntryKind>(kind);
  entry.snapshot = take_gen_step(decoder);
  entry.previous = take_gen_step(decoder);
  if (version != kFirstVersion) entry.needed = take_gen_step(decoder);
  if (version > kOneInFlightVersion) entry.unconfirmed = decoder.u8();
  if (entry.unconfirmed >= kEntriesInFlightMax) {
    return fail(Errc::kCorrupt, "log entry: the number of unconfirmed entries is invalid");
  }
  const std::uint32_t references = decoder.count(blob::kBlobIdBytes);
  if (references > kEntryReferencesMax) {
    return fail(Errc::kCorrupt, "log entry has too many references");
  }
  for (std::uint32_t i = 0; i < references; ++i) {
    entry.references.push_back(BlobId::decode(decoder.raw(blob::kBlobIdBytes).data()));
  }
  const std::uint8_t packing = version == kFirstVersion ? 0 : decoder.u8();
  if (packing > static_cast<std::uint8_t>(Packing::kLz4)) {
    return fail(Errc::kCorrupt, "log entry has an unknown packing");
  }
  if (packing == static_cast<std::uint8_t>(Packing::kLz4)) {
    TRY_VOID(take_packed_bodies(decoder, entry));
  } else {
    take_bodies(decoder, bytes, entry);
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "log entry has a wrong length");
  return entry;
}

}  // namespace moraine
