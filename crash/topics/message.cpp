#include "crash/topics/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/invariant.h"

namespace moraine::crash {
namespace {

constexpr std::uint32_t kMark = 0x4d437231;
// Half of the words are repeated, so that compression has an effect.
constexpr std::size_t kRepeats = 2;

}  // namespace

std::string to_string(const MessageId& id) {
  return fmt::format("message {} of producer {}", id.number, id.producer);
}

std::string message_bytes(const MessageId& id, std::int32_t partition, std::uint32_t size) {
  INVARIANT(size >= kMessageBytesMin, "a message of {} bytes", size);
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &kMark, sizeof kMark);
  std::memcpy(bytes.data() + 4, &id.producer, sizeof id.producer);
  std::memcpy(bytes.data() + 8, &id.number, sizeof id.number);
  SeededRandom random(id.number * 31 + id.producer * 1'000'003 +
                      static_cast<std::uint32_t>(partition));
  for (std::size_t at = kMessageBytesMin; at < bytes.size();) {
    const std::uint64_t word = random.next();
    for (std::size_t i = 0; i < kRepeats && at < bytes.size(); ++i) {
      const std::size_t count = std::min(sizeof word, bytes.size() - at);
      std::memcpy(bytes.data() + at, &word, count);
      at += count;
    }
  }
  return bytes;
}

std::optional<MessageId> message_id(std::string_view bytes) {
  std::uint32_t mark = 0;
  if (bytes.size() < kMessageBytesMin) return std::nullopt;
  std::memcpy(&mark, bytes.data(), sizeof mark);
  if (mark != kMark) return std::nullopt;
  MessageId id;
  std::memcpy(&id.producer, bytes.data() + 4, sizeof id.producer);
  std::memcpy(&id.number, bytes.data() + 8, sizeof id.number);
  return id;
}

std::uint32_t draw_message_size(Random& random) {
  const std::uint64_t kind = random.below(1'000);
  const std::uint64_t most = kind < 700 ? 200 : kind < 970 ? 2'000 : kind < 998 ? 30'000 : 800'000;
  return static_cast<std::uint32_t>(kMessageBytesMin + random.below(most));
}

}  // namespace moraine::crash
