// A message of the topics campaign: its bytes are derived from its id, its partition and its size.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/random.h"

namespace moraine::crash {

struct MessageId {
  std::uint32_t producer = 0;
  std::uint64_t number = 0;  // From 0, consecutive.
  auto operator<=>(const MessageId&) const = default;
};
std::string to_string(const MessageId& id);

inline constexpr std::uint32_t kMessageBytesMin = 16;

// Requires: size >= kMessageBytesMin.
std::string message_bytes(const MessageId& id, std::int32_t partition, std::uint32_t size);
// The id that the bytes begin with; nullopt: not a message of this campaign.
std::optional<MessageId> message_id(std::string_view bytes);
// Mostly small, some of several blobs.
std::uint32_t draw_message_size(Random& random);

}  // namespace moraine::crash
