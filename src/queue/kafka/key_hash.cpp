#include "queue/kafka/key_hash.h"

#include "base/invariant.h"

namespace moraine::kafka {
namespace {

constexpr std::uint32_t kSeed = 0x9747b28c;
constexpr std::uint32_t kMultiplier = 0x5bd1e995;
constexpr int kShift = 24;
constexpr std::uint32_t kWithoutSign = 0x7fffffff;

std::uint32_t at(ByteSpan bytes, std::size_t i) {
  return std::to_integer<std::uint32_t>(bytes[i]);
}

}  // namespace

std::uint32_t murmur2(ByteSpan bytes) {
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(bytes.size());
  while (bytes.size() >= 4) {
    std::uint32_t word = at(bytes, 0) | at(bytes, 1) << 8 | at(bytes, 2) << 16 | at(bytes, 3) << 24;
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash = hash * kMultiplier ^ word;
    bytes = bytes.subspan(4);
  }
  if (!bytes.empty()) {
    for (std::size_t i = 0; i < bytes.size(); ++i) hash ^= at(bytes, i) << (8 * i);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return hash;
}

std::int32_t partition_of_key(ByteSpan key, std::int32_t count) {
  INVARIANT(count > 0, "{} partitions", count);
  return static_cast<std::int32_t>(murmur2(key) & kWithoutSign) % count;
}

}  // namespace moraine::kafka
