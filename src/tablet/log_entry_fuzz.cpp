// Any bytes as a log entry: refused, or decoded to what encodes to the same bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "tablet/log_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  // With a right checksum, so that the grammar is reached.
  Buffer buffer(size + sizeof(std::uint32_t));
  if (size > 0) std::memcpy(buffer.data(), data, size);
  store(buffer.data() + size, crc32c(ByteSpan(buffer.data(), size)));
  const Slice bytes = std::move(buffer).freeze();
  if (const auto entry = decode_log_entry(bytes)) {
    if (!equal(encode(*entry), bytes)) __builtin_trap();
  }
  return 0;
}
