// Any bytes as a group's record, followed by a valid checksum: refused, or decoded to a value that
// encodes to the same bytes and makes a working group.

#include <cstddef>
#include <cstdint>

#include "base/checksum.h"
#include "base/coding.h"
#include "gateway/kafka/groups/group.h"
#include "gateway/kafka/groups/group_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  Encoder encoder;
  encoder.raw(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  encoder.u32(crc32c(encoder.span()));
  const Slice bytes = encoder.slice();
  auto record = kafka::decode_group(bytes);
  if (!record) return 0;
  if (!equal(kafka::encode_group(*record), bytes)) __builtin_trap();
  kafka::Group group(std::move(*record), Instant{});
  if (!equal(kafka::encode_group(group.record()), bytes)) __builtin_trap();
  if (group.describe().group_state.empty()) __builtin_trap();
  // No member sends anything again.
  for (int i = 0; i < 100 && group.deadline() < Instant::never(); ++i) {
    group.expire(group.deadline());
  }
  return 0;
}
