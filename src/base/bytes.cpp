#include "base/bytes.h"

#include <cstring>
#include <new>

#include "base/block_pool.h"
#include "base/invariant.h"

namespace moraine {
namespace detail {
namespace {

// Sanitizers must see every block freed, to detect a use after free.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif

bool pooled(std::size_t capacity) {
  return kPooling && capacity <= kPooledBlockBytesMax;
}

}  // namespace

// Small blocks share one allocation with their header; aligned ones keep the header apart, so that
// a page-sized payload costs one page and not two.
Block* allocate_block(std::size_t size) {
  if (size >= kAlignment) {
    if (pooled(size)) return shared_block_pool().take(size);
    return make_aligned_block(align_up(size, kAlignment));
  }
  void* memory = ::operator new(sizeof(Block) + size);
  auto* block = new (memory) Block;
  block->capacity = size;
  block->data = static_cast<std::byte*>(memory) + sizeof(Block);
  return block;
}

void release_block(Block* block) noexcept {
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (block->capacity >= kAlignment) {
    if (pooled(block->capacity)) {
      shared_block_pool().give(block);
    } else {
      free_aligned_block(block);
    }
  } else {
    block->~Block();
    ::operator delete(block);
  }
}

}  // namespace detail

Slice::Slice(const Slice& other) noexcept
    : block_(other.block_), data_(other.data_), size_(other.size_) {
  if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
}

Slice Slice::copy_of(ByteSpan bytes) {
  Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return std::move(buffer).freeze();
}

Slice Slice::unowned(ByteSpan bytes) {
  return Slice(nullptr, bytes.data(), bytes.size());
}

Slice Slice::sub(std::size_t offset, std::size_t size) const {
  INVARIANT(offset <= size_ && size <= size_ - offset, "sub({}, {}) of {} bytes", offset, size,
            size_);
  Slice part(*this);
  part.data_ += offset;
  part.size_ = size;
  return part;
}

Buffer::Buffer(std::size_t size) : size_(size) {
  if (size > 0) block_ = detail::allocate_block(size);
}

Buffer Buffer::zeroed(std::size_t size) {
  Buffer buffer(size);
  if (size > 0) std::memset(buffer.data(), 0, size);
  return buffer;
}

Slice Buffer::view(std::size_t offset, std::size_t size) const {
  INVARIANT(offset <= size_ && size <= size_ - offset, "view({}, {}) of {} bytes", offset, size,
            size_);
  if (size == 0) return {};
  block_->references.fetch_add(1, std::memory_order_relaxed);
  return Slice(block_, block_->data + offset, size);
}

Slice Buffer::freeze() && {
  detail::Block* block = std::exchange(block_, nullptr);
  const std::size_t size = std::exchange(size_, 0);
  return Slice(block, block ? block->data : nullptr, size);
}

bool equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace moraine
