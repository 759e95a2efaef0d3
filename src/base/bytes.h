// Bytes that travel between layers without being copied.
//
// Promise    A Slice is an immutable view that keeps its memory alive. A Buffer is the one writable
//            owner of fresh memory and becomes a Slice by freeze().
// Invariants (1) Bytes of a Slice never change. (2) Buffers of kAlignment bytes or
//            more start at a multiple of kAlignment, so they can be written to an O_DIRECT disk
//            without a copy.
// Threading  The reference count is atomic: Slices may be copied and destroyed on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace moraine {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline constexpr std::size_t kAlignment = 4096;

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr std::uint64_t align_down(std::uint64_t value, std::uint64_t unit) {
  return value / unit * unit;
}

namespace detail {
struct Block {
  std::atomic<std::uint32_t> references{1};
  std::size_t capacity = 0;
  std::byte* data = nullptr;
};
Block* allocate_block(std::size_t size);
void release_block(Block* block) noexcept;
}  // namespace detail

class Slice {
 public:
  Slice() = default;
  Slice(const Slice& other) noexcept;
  Slice(Slice&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Slice& operator=(Slice other) noexcept {
    swap(other);
    return *this;
  }
  ~Slice() {
    if (block_) detail::release_block(block_);
  }

  static Slice copy_of(ByteSpan bytes);
  static Slice copy_of(std::string_view text) { return copy_of(as_bytes(text)); }
  // Views memory that outlives every Slice of it (a literal, a static table).
  static Slice unowned(ByteSpan bytes);

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ByteSpan span() const { return {data_, size_}; }
  operator ByteSpan() const { return span(); }
  std::string_view text() const { return as_text(span()); }
  bool aligned(std::size_t unit = kAlignment) const {
    return reinterpret_cast<std::uintptr_t>(data_) % unit == 0;
  }
  // Requires: offset + size <= this->size().
  Slice sub(std::size_t offset, std::size_t size) const;
  // Bytes of memory that this slice keeps alive.
  std::size_t held_bytes() const { return block_ ? block_->capacity : 0; }

  void swap(Slice& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  friend class Buffer;
  Slice(detail::Block* block, const std::byte* data, std::size_t size)
      : block_(block), data_(data), size_(size) {}

  detail::Block* block_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size);  // Contents are undefined.
  Buffer(Buffer&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (block_) detail::release_block(block_);
  }

  static Buffer zeroed(std::size_t size);

  std::byte* data() { return block_ ? block_->data : nullptr; }
  std::size_t size() const { return size_; }
  MutableByteSpan span() { return {data(), size_}; }
  // Hands the memory over; the Buffer is empty afterwards.
  Slice freeze() &&;
  // A view of bytes that are written and do not change any more; this Buffer stays the writer of
  // the others. Requires: offset + size <= this->size().
  Slice view(std::size_t offset, std::size_t size) const;
  // Slices of view() exist.
  bool viewed() const { return block_ && block_->references.load(std::memory_order_acquire) > 1; }

 private:
  detail::Block* block_ = nullptr;
  std::size_t size_ = 0;
};

bool equal(ByteSpan a, ByteSpan b);

}  // namespace moraine
