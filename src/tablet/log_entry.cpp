#include "tablet/log_entry.h"

#include <array>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine {
namespace {

constexpr std::uint8_t kMagic = 0x4c;
constexpr std::uint8_t kVersion = 1;

}  // namespace

Slice encode(const LogEntry& entry) {
  Encoder encoder;
  encoder.u8(kMagic).u8(kVersion).u8(static_cast<std::uint8_t>(entry.kind));
  encoder.u32(entry.snapshot.generation).u32(entry.snapshot.step);
  encoder.u32(entry.previous.generation).u32(entry.previous.step);
  encoder.u32(static_cast<std::uint32_t>(entry.references.size()));
  for (const BlobId& id : entry.references) {
    std::array<std::byte, blob::kBlobIdBytes> bytes;
    id.encode(bytes.data());
    encoder.raw(bytes);
  }
  encoder.u32(static_cast<std::uint32_t>(entry.bodies.size()));
  for (const Slice& body : entry.bodies) encoder.sized(body);
  encoder.u32(crc32c(encoder.span()));
  return encoder.slice();
}

Result<LogEntry> decode_log_entry(const Slice& bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return fail(Errc::kCorrupt, "log entry is cut short");
  const std::size_t covered = bytes.size() - sizeof(std::uint32_t);
  if (crc32c(bytes.span().first(covered)) != load<std::uint32_t>(bytes.data() + covered)) {
    return fail(Errc::kCorrupt, "log entry checksum");
  }
  Decoder decoder(bytes.span().first(covered));
  if (decoder.u8() != kMagic) return fail(Errc::kCorrupt, "not a log entry");
  if (const std::uint8_t version = decoder.u8(); version != kVersion) {
    return fail(Errc::kUnsupported, "log entry of another version");
  }
  LogEntry entry;
  const std::uint8_t kind = decoder.u8();
  if (kind < 1 || kind > 3) return fail(Errc::kCorrupt, "log entry kind");
  entry.kind = static_cast<EntryKind>(kind);
  entry.snapshot.generation = decoder.u32();
  entry.snapshot.step = decoder.u32();
  entry.previous.generation = decoder.u32();
  entry.previous.step = decoder.u32();
  const std::uint32_t references = decoder.count(blob::kBlobIdBytes);
  if (references > kEntryReferencesMax) return fail(Errc::kCorrupt, "log entry references");
  for (std::uint32_t i = 0; i < references; ++i) {
    entry.references.push_back(BlobId::decode(decoder.raw(blob::kBlobIdBytes).data()));
  }
  const std::uint32_t bodies = decoder.count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < bodies; ++i) {
    const ByteSpan body = decoder.sized();
    if (decoder.failed()) break;
    entry.bodies.push_back(
        bytes.sub(static_cast<std::size_t>(body.data() - bytes.data()), body.size()));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "log entry length");
  return entry;
}

}  // namespace moraine
