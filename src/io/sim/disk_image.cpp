#include "io/sim/disk_image.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/invariant.h"

namespace moraine {

SimExtent::SimExtent(std::uint64_t from, std::vector<Slice> parts)
    : offset(from), pieces(std::move(parts)) {
  INVARIANT(offset % kSectorSize == 0, "write at {}: not a sector bound", offset);
  for (const Slice& piece : pieces) {
    INVARIANT(piece.size() % kSectorSize == 0, "a piece of {} bytes is not whole sectors",
              piece.size());
    INVARIANT(piece.empty() || piece.aligned(kSectorSize), "a piece is not aligned in memory");
    size += piece.size();
  }
}

void DiskImage::resize(std::uint64_t size) {
  INVARIANT(size % kSectorSize == 0, "size {} is not whole sectors", size);
  size_ = size;
  const std::uint64_t end = size / kSectorSize;
  pages_.erase(pages_.lower_bound((end + kPageSectors - 1) / kPageSectors), pages_.end());
  const auto last = pages_.find(end / kPageSectors);
  if (last == pages_.end()) return;
  Page& page = writable_page(last->first);
  for (std::uint64_t i = end % kPageSectors; i < kPageSectors; ++i) page[i] = Slice();
}

void DiskImage::write(const SimExtent& extent, const SimSectorMask& mask) {
  std::uint64_t sector = extent.offset / kSectorSize;
  const std::uint64_t first = sector;
  std::uint64_t end = 0;
  Page* page = nullptr;
  for (const Slice& piece : extent.pieces) {
    for (std::uint64_t at = 0; at < piece.size(); at += kSectorSize, ++sector) {
      if (!page || sector % kPageSectors == 0) page = &writable_page(sector / kPageSectors);
      if (!mask.empty() && !mask[sector - first]) continue;
      (*page)[sector % kPageSectors] = piece.sub(at, kSectorSize);
      end = (sector + 1) * kSectorSize;
    }
  }
  size_ = std::max(size_, end);
}

Slice DiskImage::read(std::uint64_t offset, std::uint64_t size) const {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "read of {} bytes at {}", size,
            offset);
  INVARIANT(offset <= size_ && size <= size_ - offset, "read of {} bytes at {} of a disk of {}",
            size, offset, size_);
  Buffer buffer(size);
  std::uint64_t sector = offset / kSectorSize;
  for (std::uint64_t at = 0; at < size;) {
    const std::uint64_t index = sector / kPageSectors;
    const std::uint64_t count =
        std::min((index + 1) * kPageSectors - sector, (size - at) / kSectorSize);
    const auto found = pages_.find(index);
    if (found == pages_.end()) {
      std::memset(buffer.data() + at, 0, count * kSectorSize);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) {
        const Slice& bytes = (*found->second)[(sector + i) % kPageSectors];
        std::byte* const to = buffer.data() + at + i * kSectorSize;
        if (bytes.empty()) std::memset(to, 0, kSectorSize);
        if (!bytes.empty()) std::memcpy(to, bytes.data(), kSectorSize);
      }
    }
    sector += count;
    at += count * kSectorSize;
  }
  return std::move(buffer).freeze();
}

void DiskImage::flip_bit(std::uint64_t offset, unsigned bit) {
  INVARIANT(offset < size_ && bit < 8, "bit {} of byte {} of a disk of {}", bit, offset, size_);
  const std::uint64_t sector = offset / kSectorSize;
  Slice& place = writable_page(sector / kPageSectors)[sector % kPageSectors];
  Buffer copy = Buffer::zeroed(kSectorSize);
  if (!place.empty()) std::memcpy(copy.data(), place.data(), kSectorSize);
  copy.data()[offset % kSectorSize] ^= static_cast<std::byte>(1U << bit);
  place = std::move(copy).freeze();
}

std::optional<std::uint64_t> DiskImage::written_sector_from(std::uint64_t from) const {
  const std::uint64_t first = from / kSectorSize;
  for (auto it = pages_.lower_bound(first / kPageSectors); it != pages_.end(); ++it) {
    const std::uint64_t base = it->first * kPageSectors;
    for (std::uint64_t i = first > base ? first - base : 0; i < kPageSectors; ++i) {
      if (!(*it->second)[i].empty()) return (base + i) * kSectorSize;
    }
  }
  return std::nullopt;
}

DiskImage::Page& DiskImage::writable_page(std::uint64_t index) {
  std::shared_ptr<Page>& page = pages_[index];
  if (!page) {
    page = std::make_shared<Page>();
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

}  // namespace moraine
