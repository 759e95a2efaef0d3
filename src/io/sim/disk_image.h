// DiskImage: the bytes of a simulated disk, as a value.
//
// Promise    Copies are cheap (pages are shared until written) and independent. Sectors never
//            written read as zeros. Written bytes are shared with the writer, not copied.
// Invariants Offsets and sizes are multiples of kSectorSize.
// Threading  One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "io/disk.h"

namespace moraine {

// One write: pieces that follow each other from `offset`.
struct SimExtent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::vector<Slice> pieces;
  bool discard = false;  // Done by the file system, not a transfer: it is never misdirected.

  SimExtent() = default;
  // Requires: offset, and the address and size of each piece, are multiples of kSectorSize.
  SimExtent(std::uint64_t from, std::vector<Slice> parts);
  std::uint64_t end() const { return offset + size; }
  std::uint64_t sectors() const { return size / kSectorSize; }
};

// Which sectors of an extent arrived; empty is all of them.
using SimSectorMask = std::vector<bool>;

class DiskImage {
 public:
  DiskImage() = default;
  explicit DiskImage(std::uint64_t size) : size_(size) {}

  std::uint64_t size() const { return size_; }
  // Drops the bytes past `size`.
  void resize(std::uint64_t size);

  // Writing past the end extends the image.
  void write(const SimExtent& extent, const SimSectorMask& mask = {});
  // Requires: offset + size <= this->size().
  Slice read(std::uint64_t offset, std::uint64_t size) const;

  void flip_bit(std::uint64_t offset, unsigned bit);
  // The offset of the first sector at or after `from` that was ever written.
  std::optional<std::uint64_t> written_sector_from(std::uint64_t from) const;

 private:
  static constexpr std::uint64_t kPageSectors = 256;
  using Page = std::array<Slice, kPageSectors>;  // An empty slice is a sector of zeros.

  Page& writable_page(std::uint64_t index);

  std::uint64_t size_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Page>> pages_;
};

}  // namespace moraine
