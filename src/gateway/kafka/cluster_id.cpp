#include "gateway/kafka/cluster_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::kafka {
namespace {

// clang-format off
// cluster id  version u8 = 1, 16 bytes that are not all zero, crc32c u32 of what comes before
// clang-format on
constexpr std::uint8_t kVersion = 1;
constexpr char kKey[] = "kafka/cluster_id";
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

Uuid make_cluster_id(Random& random) {
  Uuid id;
  while (id.is_zero()) {
    for (std::byte& byte : id.bytes) byte = static_cast<std::byte>(random.below(256));
  }
  return id;
}

std::string cluster_id_text(const Uuid& id) {
  constexpr int kDigitBits = 6;
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::byte byte : id.bytes) {
    bits = bits << 8 | std::to_integer<std::uint32_t>(byte);
    for (count += 8; count >= kDigitBits; count -= kDigitBits) {
      text += kDigits[bits >> (count - kDigitBits) & 63];
    }
  }
  if (count > 0) text += kDigits[bits << (kDigitBits - count) & 63];
  return text;
}

Slice encode_cluster_id(const Uuid& id) {
  Encoder encoder;
  encoder.u8(kVersion).raw(id.bytes);
  const std::uint32_t crc = crc32c(encoder.span());
  encoder.u32(crc);
  return encoder.slice();
}

Result<Uuid> decode_cluster_id(const Slice& bytes) {
  Decoder decoder(bytes);
  const std::uint8_t version = decoder.u8();
  if (!decoder.failed() && version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("cluster id of version {}", version));
  }
  Uuid id;
  const ByteSpan stored = decoder.raw(id.bytes.size());
  if (!decoder.failed()) std::ranges::copy(stored, id.bytes.begin());
  const std::size_t checked = decoder.position();
  const std::uint32_t crc = decoder.u32();
  if (decoder.failed() || decoder.remaining() > 0 || crc32c(bytes.span().first(checked)) != crc ||
      id.is_zero()) {
    return fail(Errc::kCorrupt, "cluster id");
  }
  return id;
}

Task<Result<Uuid>> load_cluster_id(std::function<std::shared_ptr<KeyValue>()> tablet,
                                   Random& random) {
  std::shared_ptr<KeyValue> here = tablet();
  if (here == nullptr) {
    co_return fail(Errc::kNotHere, "the tablet of the cluster id is not running here");
  }
  const Result<Slice> stored = co_await here->read(kKey);
  if (stored) co_return decode_cluster_id(*stored);
  if (stored.error().code != Errc::kNotFound) co_return std::unexpected<Error>(stored.error());
  here = tablet();
  if (here == nullptr) {
    co_return fail(Errc::kNotHere, "the tablet of the cluster id is not running here");
  }
  const Uuid id = make_cluster_id(random);
  std::vector<Command> commands;
  commands.push_back(WriteKey{kKey, encode_cluster_id(id), false});
  CO_TRY_VOID(co_await here->execute(std::move(commands)));
  co_return id;
}

}  // namespace moraine::kafka
