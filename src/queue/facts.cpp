#include "queue/facts.h"

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::queue {
namespace {

constexpr std::uint8_t kVersion = 1;

Result<void> check_version(Decoder& decoder, std::string_view what) {
  const std::uint8_t version = decoder.u8();
  if (version == kVersion) return {};
  return fail(Errc::kUnsupported, fmt::format("{} of version {}", what, version));
}

bool ends_with_crc(Decoder& decoder, ByteSpan bytes) {
  const std::size_t covered = decoder.position();
  const std::uint32_t crc = decoder.u32();
  return decoder.finished() && crc == crc32c(bytes.first(covered));
}

}  // namespace

Slice encode_bounds(const Bounds& bounds) {
  Encoder encoder;
  encoder.u8(kVersion).u64(bounds.start).u64(bounds.end);
  encoder.u32(crc32c(encoder.span()));
  return encoder.slice();
}

Result<Bounds> decode_bounds(ByteSpan bytes) {
  Decoder decoder(bytes);
  TRY_VOID(check_version(decoder, "bounds"));
  Bounds bounds;
  bounds.start = decoder.u64();
  bounds.end = decoder.u64();
  if (!ends_with_crc(decoder, bytes) || bounds.start > bounds.end) {
    return fail(Errc::kCorrupt, "the stored bounds of a partition are damaged");
  }
  return bounds;
}

Slice encode_consumer(const ConsumerOffset& consumer) {
  Encoder encoder;
  encoder.u8(kVersion).u64(consumer.offset).u64(consumer.committed_ms);
  encoder.fixed(consumer.leader_epoch).sized(consumer.metadata);
  encoder.u32(crc32c(encoder.span()));
  return encoder.slice();
}

Result<ConsumerOffset> decode_consumer(std::string name, ByteSpan bytes) {
  Decoder decoder(bytes);
  TRY_VOID(check_version(decoder, "consumer"));
  ConsumerOffset consumer;
  consumer.consumer = std::move(name);
  consumer.offset = decoder.u64();
  consumer.committed_ms = decoder.u64();
  consumer.leader_epoch = decoder.fixed<std::int32_t>();
  consumer.metadata = std::string(as_text(decoder.sized()));
  if (!ends_with_crc(decoder, bytes)) {
    return fail(Errc::kCorrupt, "a stored consumer of a partition is damaged");
  }
  return consumer;
}

}  // namespace moraine::queue
