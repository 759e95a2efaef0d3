// Any bytes as a piece, with and without corrected checksums: refused, or every entry can be read.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "queue/piece.h"

namespace {

using namespace moraine;
using namespace moraine::queue;

void check_bytes(Slice bytes) {
  const auto piece = Piece::open(std::move(bytes));
  if (!piece) return;
  Offset next = piece->header().first_offset;
  std::size_t payload = 0;
  for (std::size_t i = 0; i < piece->entries(); ++i) {
    const StoredEntry entry = piece->entry(i);
    if (entry.offset != next || piece->index_of(entry.offset) != i) __builtin_trap();
    next += entry.count;
    payload += entry.payload.size();
  }
  if (next != piece->header().end_offset()) __builtin_trap();
  if (payload != piece->header().payload_bytes) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(reinterpret_cast<const std::byte*>(data), size);
  check_bytes(Slice::copy_of(input));
  if (size < kPieceHeaderBytes) return 0;
  // The same with a valid header: magic, version, sizes and checksums.
  Buffer made(size);
  std::memcpy(made.data(), input.data(), size);
  const std::uint32_t room = static_cast<std::uint32_t>(size - kPieceHeaderBytes);
  const std::uint32_t index = load<std::uint32_t>(made.data() + 32) % (room + 1);
  store(made.data(), std::uint32_t{0x50514d52});
  store(made.data() + 4, std::uint8_t{1});
  store(made.data() + 5, std::uint8_t{0});
  store(made.data() + 32, index);
  store(made.data() + 36, room - index);
  store(made.data() + 12, crc32c(made.span().subspan(kPieceHeaderBytes + index)));
  store(made.data() + 8, crc32c(made.span().subspan(12, kPieceHeaderBytes - 12 + index)));
  check_bytes(std::move(made).freeze());
  return 0;
}
