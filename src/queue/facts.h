// Small records of a partition, stored as values of keys: its bounds, and its consumers' offsets.
//
// clang-format off
//   bounds    version u8 = 1, start u64, end u64, crc u32 (of all before it)
//   consumer  version u8 = 1, offset u64, committed u64 (ms), leader epoch i32, metadata sized,
//             crc u32 (of all before it)
// clang-format on
//
// The name of a consumer is in its key.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "queue/partition.h"

namespace moraine::queue {

struct Bounds {
  Offset start = 0;
  Offset end = 0;
  bool operator==(const Bounds&) const = default;
};

Slice encode_bounds(const Bounds& bounds);
Result<Bounds> decode_bounds(ByteSpan bytes);

Slice encode_consumer(const ConsumerOffset& consumer);
Result<ConsumerOffset> decode_consumer(std::string name, ByteSpan bytes);

}  // namespace moraine::queue
