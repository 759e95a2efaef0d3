// Which partition the messages with a key go to.
//
// Promise    Pure. The partition that Kafka's own clients choose.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace moraine::kafka {

// MurmurHash2 with the seed of Kafka's clients.
std::uint32_t murmur2(ByteSpan bytes);

// Requires: count > 0.
std::int32_t partition_of_key(ByteSpan key, std::int32_t count);

}  // namespace moraine::kafka
