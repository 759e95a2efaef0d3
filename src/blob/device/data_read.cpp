#include <algorithm>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "blob/device/recovery.h"

namespace moraine::blob {
namespace {

std::unexpected<Error> checksum_error(const Location& location) {
  return fail(Errc::kCorrupt, fmt::format("data at segment {} offset {}: checksum does not match",
                                          location.segment, location.offset));
}

// Reads bytes [offset, offset + size) of the disk through whole sectors.
Task<Result<Slice>> read_unaligned(Disk& disk, std::uint64_t offset, std::size_t size) {
  const std::uint64_t from = align_down(offset, kSectorSize);
  const std::uint64_t to = align_up(offset + size, kSectorSize);
  CO_TRY(Slice sectors, co_await disk.read(from, to - from));
  co_return sectors.sub(offset - from, size);
}

// A range of data with a checksum table: reads the blocks that cover it, and the table.
Task<Result<Slice>> read_blocks(Disk& disk, std::uint64_t base, Location location,
                                std::uint32_t shift, std::uint32_t size) {
  const std::uint32_t table_size = table_bytes(location.size);
  CO_TRY(const Slice table, co_await read_unaligned(disk, base - table_size, table_size));
  if (crc32c(table) != location.crc) co_return checksum_error(location);
  const auto from = static_cast<std::uint32_t>(align_down(shift, kChecksumBlock));
  const auto to = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(align_up(shift + size, kChecksumBlock), location.size));
  CO_TRY(const Slice blocks, co_await read_unaligned(disk, base + from, to - from));
  for (std::uint32_t at = from; at < to; at += kChecksumBlock) {
    const std::uint32_t length = std::min(kChecksumBlock, to - at);
    const std::size_t index = at / kChecksumBlock * sizeof(std::uint32_t);
    if (crc32c(blocks.span().subspan(at - from, length)) !=
        load<std::uint32_t>(table.data() + index)) {
      co_return checksum_error(location);
    }
  }
  co_return blocks.sub(shift - from, size);
}

}  // namespace

Task<Result<Slice>> read_data(Disk& disk, const Superblock& superblock, Location location,
                              std::uint32_t shift, std::uint32_t size) {
  INVARIANT(shift <= location.size && size <= location.size - shift, "read {}+{} of {} bytes",
            shift, size, location.size);
  const std::uint64_t base = superblock.segment_offset(location.segment) + location.offset;
  const bool whole = size == location.size;
  if (!whole && location.size > kChecksumBlock) {
    co_return co_await read_blocks(disk, base, location, shift, size);
  }
  // As read_unaligned(), without another coroutine on the hot path.
  const std::uint64_t from = align_down(base, kSectorSize);
  const std::uint64_t to = align_up(base + location.size, kSectorSize);
  CO_TRY(const Slice sectors, co_await disk.read(from, to - from));
  const ByteSpan data = sectors.span().subspan(base - from, location.size);
  if (checksum_data(data).crc != location.crc) co_return checksum_error(location);
  co_return sectors.sub(base - from + shift, size);
}

}  // namespace moraine::blob
