// ByteChain: bytes in several slices, read as one run.
//
// Promise    Building, passing on and destroying a chain copies no bytes. A chain of one slice
//            allocates nothing.
// Threading  As Slice (base/bytes.h): the memory may be released on any thread.
// Tests      byte_chain_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"

namespace moraine {

class ByteChain {
 public:
  ByteChain() = default;
  ByteChain(Slice bytes) : size_(bytes.size()), first_(std::move(bytes)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // nullptr: there are several slices.
  const Slice* single() const { return rest_.empty() ? &first_ : nullptr; }

  // Forgets a known checksum.
  void append(Slice bytes);
  // Calls `visit(slice)` for each slice, in order.
  template <class Visit>
  void each(Visit visit) const {
    visit(first_);
    for (const Slice& slice : rest_) visit(slice);
  }
  // Requires: memory for size() bytes.
  void copy_to(std::byte* to) const;
  // The bytes in one slice: the chain's own when it has just one, otherwise a copy.
  Slice joined() const;

  // crc32c of all bytes.
  std::uint32_t compute_checksum() const;
  // The same, set by a maker that knows it; nullopt: not known.
  const std::optional<std::uint32_t>& known_checksum() const { return checksum_; }
  void set_checksum(std::uint32_t checksum) { checksum_ = checksum; }

 private:
  std::size_t size_ = 0;
  Slice first_;
  std::vector<Slice> rest_;
  std::optional<std::uint32_t> checksum_;
};

// Shorter slices are cheaper to copy than to refer to.
inline constexpr std::size_t kReferencedBytesMin = 128;

// ChainWriter: writes fields, little-endian, as a chain that refers to long slices.
//
// Promise    The same bytes as Encoder (base/coding.h). Slices of kReferencedBytesMin bytes or more
//            are referred to; everything else is in one block.
class ChainWriter {
 public:
  enum class Slices { kReferenced, kCopied };

  // `block_bytes`: all bytes that are written, but those of referenced slices. With kCopied none
  // are: the chain is one slice.
  explicit ChainWriter(std::size_t block_bytes, Slices slices = Slices::kReferenced)
      : block_(block_bytes), slices_(slices) {}

  // How many bytes of a slice, or of a chain, go into the block unless all do.
  static std::size_t copied_bytes(const Slice& slice) {
    return slice.size() < kReferencedBytesMin ? slice.size() : 0;
  }
  static std::size_t copied_bytes(const ByteChain& chain);

  ChainWriter& u8(std::uint8_t value) { return fixed(value); }
  ChainWriter& u32(std::uint32_t value) { return fixed(value); }
  ChainWriter& u64(std::uint64_t value) { return fixed(value); }
  // u32 length, then the bytes; text is always copied.
  ChainWriter& sized(const Slice& bytes) {
    return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
  }
  ChainWriter& sized(const ByteChain& bytes);
  ChainWriter& sized(std::string_view text);
  ChainWriter& raw(const Slice& bytes);
  // The next `size` bytes, for the caller to fill.
  std::byte* skip(std::size_t size);

  // crc32c of everything written so far.
  std::uint32_t checksum();
  // What the block has so far.
  ByteSpan block() { return block_.span().first(at_); }
  // Requires: `block_bytes` were written.
  ByteChain finish() &&;

 private:
  template <FixedInteger T>
  ChainWriter& fixed(T value) {
    store(skip(sizeof(T)), value);
    return *this;
  }
  void flush();

  ByteChain chain_;
  Buffer block_;
  const Slices slices_;
  std::size_t at_ = 0;       // Of the block: what follows is not written yet.
  std::size_t flushed_ = 0;  // Of the block: what the chain has.
};

}  // namespace moraine
