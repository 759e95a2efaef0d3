#include "base/byte_chain.h"

#include <cstring>

#include "base/checksum.h"
#include "base/invariant.h"

namespace moraine {

void ByteChain::append(Slice bytes) {
  if (bytes.empty()) return;
  checksum_.reset();
  size_ += bytes.size();
  if (first_.empty()) {
    first_ = std::move(bytes);
  } else {
    rest_.push_back(std::move(bytes));
  }
}

void ByteChain::copy_to(std::byte* to) const {
  each([&to](const Slice& slice) {
    if (slice.empty()) return;
    std::memcpy(to, slice.data(), slice.size());
    to += slice.size();
  });
}

Slice ByteChain::joined() const {
  if (single()) return first_;
  Buffer buffer(size_);
  copy_to(buffer.data());
  return std::move(buffer).freeze();
}

std::uint32_t ByteChain::compute_checksum() const {
  std::uint32_t checksum = 0;
  each([&checksum](const Slice& slice) { checksum = crc32c(slice, checksum); });
  return checksum;
}

std::size_t ChainWriter::copied_bytes(const ByteChain& chain) {
  std::size_t bytes = 0;
  chain.each([&bytes](const Slice& slice) { bytes += copied_bytes(slice); });
  return bytes;
}

std::byte* ChainWriter::skip(std::size_t size) {
  INVARIANT(size <= block_.size() - at_, "{} bytes after {} of {}", size, at_, block_.size());
  std::byte* const skipped = block_.data() + at_;
  at_ += size;
  return skipped;
}

ChainWriter& ChainWriter::raw(const Slice& bytes) {
  if (slices_ == Slices::kReferenced && bytes.size() >= kReferencedBytesMin) {
    flush();
    chain_.append(bytes);
  } else if (!bytes.empty()) {
    std::memcpy(skip(bytes.size()), bytes.data(), bytes.size());
  }
  return *this;
}

ChainWriter& ChainWriter::sized(const ByteChain& bytes) {
  u32(static_cast<std::uint32_t>(bytes.size()));
  bytes.each([this](const Slice& slice) { raw(slice); });
  return *this;
}

ChainWriter& ChainWriter::sized(std::string_view text) {
  u32(static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(skip(text.size()), text.data(), text.size());
  return *this;
}

std::uint32_t ChainWriter::checksum() {
  return crc32c(block().subspan(flushed_), chain_.compute_checksum());
}

void ChainWriter::flush() {
  chain_.append(block_.view(flushed_, at_ - flushed_));
  flushed_ = at_;
}

ByteChain ChainWriter::finish() && {
  INVARIANT(at_ == block_.size(), "{} bytes of {} were written", at_, block_.size());
  flush();
  return std::move(chain_);
}

}  // namespace moraine
