#include "table/tablet/state/snapshot_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeadBytes = 5;
constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);

}  // namespace

PageWriter::PageWriter(std::size_t page_bytes_max) : page_bytes_max_(page_bytes_max) {
  INVARIANT(page_bytes_max > kHeadBytes + kChecksumBytes, "a page of {} bytes", page_bytes_max);
  begin_page();
}

void PageWriter::begin_page() {
  page_.assign(kHeadBytes, std::byte{0});
  page_[0] = std::byte{kVersion};
  store(page_.data() + 1, static_cast<std::uint32_t>(pages_.size()));
}

void PageWriter::end_page() {
  const std::uint32_t checksum = crc32c(page_);
  page_.resize(page_.size() + kChecksumBytes);
  store(page_.data() + page_.size() - kChecksumBytes, checksum);
  pages_.push_back(Slice::copy_of(page_));
}

void PageWriter::append(ByteSpan bytes) {
  while (!bytes.empty()) {
    if (page_.size() + kChecksumBytes == page_bytes_max_) {
      end_page();
      begin_page();
    }
    const std::size_t room = page_bytes_max_ - kChecksumBytes - page_.size();
    const ByteSpan part = bytes.first(std::min(room, bytes.size()));
    page_.insert(page_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
  }
}

void PageWriter::add(ByteSpan item) {
  std::byte size[sizeof(std::uint32_t)];
  store(size, static_cast<std::uint32_t>(item.size()));
  append(size);
  append(item);
}

std::vector<Slice> PageWriter::finish() && {
  end_page();
  return std::move(pages_);
}

Result<PageReader> PageReader::open(const std::vector<Slice>& pages) {
  PageReader reader;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const Slice& page = pages[i];
    if (page.size() < kHeadBytes + kChecksumBytes) {
      return fail(Errc::kCorrupt, fmt::format("snapshot page {} is short", i));
    }
    const std::size_t covered = page.size() - kChecksumBytes;
    if (crc32c(page.span().first(covered)) != load<std::uint32_t>(page.data() + covered)) {
      return fail(Errc::kCorrupt, fmt::format("snapshot page {}: checksum", i));
    }
    if (page.data()[0] != std::byte{kVersion}) {
      return fail(Errc::kUnsupported, fmt::format("snapshot page {} of another version", i));
    }
    if (load<std::uint32_t>(page.data() + 1) != i) {
      return fail(Errc::kCorrupt, fmt::format("snapshot page {} is out of order", i));
    }
    if (covered == kHeadBytes) continue;
    reader.payloads_.push_back(page.sub(kHeadBytes, covered - kHeadBytes));
  }
  return reader;
}

Result<ByteSpan> PageReader::next() {
  TRY(const ByteSpan size, take(sizeof(std::uint32_t)));
  return take(load<std::uint32_t>(size.data()));
}

Result<ByteSpan> PageReader::take(std::size_t size) {
  joined_.clear();
  while (page_ < payloads_.size()) {
    const ByteSpan left = payloads_[page_].span().subspan(at_);
    const ByteSpan part = left.first(std::min(left.size(), size - joined_.size()));
    at_ += part.size();
    if (at_ == payloads_[page_].size()) {
      ++page_;
      at_ = 0;
    }
    if (joined_.empty() && part.size() == size) return part;
    joined_.insert(joined_.end(), part.begin(), part.end());
    if (joined_.size() == size) return ByteSpan(joined_);
  }
  if (size == 0) return ByteSpan();
  return fail(Errc::kCorrupt, "a snapshot item is cut short");
}

}  // namespace moraine::table
