// Any bytes as stored sources, consumers and bounds, and as a data key: refused, or decoded to a
// value that encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "base/checksum.h"
#include "base/coding.h"
#include "queue/facts.h"
#include "queue/keys.h"
#include "queue/sources.h"

namespace {

using namespace moraine;
using namespace moraine::queue;

void check_bytes(const Slice& bytes) {
  if (const auto source = decode_source(bytes)) {
    if (!equal(encode_source(*source), bytes)) __builtin_trap();
    Producer producer{"me", source->numbering, source->max_number, source->epoch};
    if (judge(&*source, producer, 1).status == WriteStatus::kOk) {
      const Source next = after(&*source, producer, 1, 1, 1);
      if (!decode_source(encode_source(next))) __builtin_trap();
    }
  }
  if (const auto consumer = decode_consumer("me", bytes)) {
    if (!equal(encode_consumer(*consumer), bytes)) __builtin_trap();
  }
  if (const auto bounds = decode_bounds(bytes)) {
    if (!equal(encode_bounds(*bounds), bytes)) __builtin_trap();
  }
  if (const auto name = parse_data_key(bytes.text())) {
    if (data_key(*name) != bytes.text()) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  check_bytes(Slice::copy_of(input));
  // The same with a valid version and checksum.
  if (size == 0) return 0;
  Encoder encoder;
  encoder.u8(1).raw(input.subspan(1));
  encoder.u32(crc32c(encoder.span()));
  check_bytes(encoder.slice());
  return 0;
}
