#include "table/chunk/block_feed.h"

#include <algorithm>

namespace moraine::table {

const BlockFeed::Range* BlockFeed::range_of(const BlockInfo& info) const {
  for (const Range& range : ranges_) {
    if (range.at <= info.at && info.at + info.size <= range.end()) return &range;
  }
  return nullptr;
}

Slice BlockFeed::get(std::uint32_t block) {
  if (error_) return {};
  const BlockInfo& info = chunk_->meta().blocks[block];
  auto found = chunk_->find_in_memory(block, kind());
  if (!found) {
    error_ = std::move(found.error());
    return {};
  }
  if (!found->empty()) return std::move(*found);
  const Range* range = range_of(info);
  if (range == nullptr) return {};
  const ByteSpan stored = range->bytes.span().subspan(info.at - range->at, info.size);
  auto opened = chunk_->open_block(block, stored);
  if (!opened) {
    error_ = std::move(opened.error());
    return {};
  }
  if (use_cache_) chunk_->keep(block, *opened, stored);
  return std::move(*opened);
}

bool BlockFeed::in_memory(std::uint32_t block) const {
  return range_of(chunk_->meta().blocks[block]) != nullptr || chunk_->in_memory(block);
}

Task<Result<void>> BlockFeed::load(std::vector<std::uint32_t> blocks) {
  if (error_) co_return std::unexpected(*error_);
  const std::vector<BlockInfo>& infos = chunk_->meta().blocks;
  std::erase_if(blocks, [this](std::uint32_t block) { return in_memory(block); });
  if (blocks.empty()) co_return Result<void>();
  const std::uint64_t first = infos[blocks.front()].at;
  std::erase_if(ranges_, [first](const Range& range) { return range.end() <= first; });
  for (std::size_t i = 0; i < blocks.size();) {
    const std::uint64_t at = infos[blocks[i]].at;
    const std::uint64_t limit = std::min(chunk_->blob_end(at), at + kFeedBytesMax);
    std::uint64_t end = at + infos[blocks[i]].size;
    for (++i; i < blocks.size(); ++i) {
      const BlockInfo& next = infos[blocks[i]];
      if (next.at > end + kFeedGapMax || next.at + next.size > limit) break;
      end = next.at + next.size;
    }
    auto bytes = co_await chunk_->read(at, static_cast<std::uint32_t>(end - at), kind());
    if (!bytes) co_return std::unexpected(std::move(bytes.error()));
    ranges_.push_back({at, std::move(*bytes)});
  }
  window_ = std::min(window_ * 2, use_cache_ ? kFeedBytesMax : kBackgroundFeedBytesMax);
  co_return Result<void>();
}

}  // namespace moraine::table
