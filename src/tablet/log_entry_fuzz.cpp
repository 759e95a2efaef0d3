// Any bytes as a log entry: rejected, or decoded to an entry that round-trips.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "tablet/log_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  // With a valid checksum, so that the grammar is reached.
  Buffer buffer(size + sizeof(std::uint32_t));
  if (size > 0) std::memcpy(buffer.data(), data, size);
  store(buffer.data() + size, crc32c(ByteSpan(buffer.data(), size)));
  const auto entry = decode_log_entry(std::move(buffer).freeze());
  if (!entry || unpacked_bytes(*entry) > kEntryBytesMax) return 0;
  const auto again = decode_log_entry(encode(*entry).joined());
  const bool same = again && again->kind == entry->kind && again->snapshot == entry->snapshot &&
                    again->previous == entry->previous && again->needed == entry->needed &&
                    again->references == entry->references &&
                    again->bodies.size() == entry->bodies.size();
  if (!same) __builtin_trap();
  for (std::size_t i = 0; i < entry->bodies.size(); ++i) {
    if (!equal(again->bodies[i].joined(), entry->bodies[i].joined())) __builtin_trap();
  }
  return 0;
}
