// Cursors over the rows of a chunk: one for each format.

#include "table/chunk/block_feed.h"
#include "table/chunk/open_chunk.h"
#include "table/chunk/row_block.h"
#include "table/chunk/row_group.h"
#include "table/chunk/scan_bounds.h"

namespace moraine::table {
namespace {

class RowBlockCursor final : public RowCursor {
 public:
  RowBlockCursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk,
                 KeyBounds bounds, ReadSpec spec, bool use_cache, SkippedUnits skipped)
      : reader_(std::move(reader)),
        chunk_(&chunk),
        bounds_(chunk, std::move(bounds), std::move(skipped)),
        spec_(spec),
        feed_(chunk, use_cache),
        unit_(bounds_.next_unit(bounds_.first_unit())) {}

  Step next() override {
    for (;;) {
      if (unit_ == bounds_.end_unit()) return Step::kEnd;
      if (block_.empty() && !enter_block()) return Step::kNeedsData;
      const RowBlock block(block_);
      while (row_index_ < block.rows()) {
        const std::uint32_t row = row_index_++;
        block.key(row, key_);
        key_.append(chunk_->added_keys(), '\0');
        if (checks_bounds_) {
          if (bounds_.below(as_bytes(key_))) continue;
          if (bounds_.beyond(as_bytes(key_))) {
            unit_ = bounds_.end_unit();
            return Step::kEnd;
          }
        }
        out_.clear();
        if (!block.read(row, chunk_->plan(), spec_, out_)) continue;
        out_.key = as_bytes(key_);
        view_ = out_.row();
        return Step::kRow;
      }
      block_ = {};
      unit_ = bounds_.next_unit(unit_ + 1);
    }
  }

  const VersionedRow& row() const override { return view_; }

  Task<Result<void>> load() override {
    std::vector<std::uint32_t> blocks;
    std::size_t bytes = 0;
    for (std::uint32_t unit = unit_; unit < bounds_.end_unit();
         unit = bounds_.next_unit(unit + 1)) {
      bytes += chunk_->meta().blocks[unit].size;
      if (unit > unit_ && bytes > feed_.window()) break;
      blocks.push_back(unit);
    }
    return feed_.load(std::move(blocks));
  }

 private:
  bool enter_block() {
    block_ = feed_.get(unit_);
    if (block_.empty()) return false;
    if (spec_.statistics != nullptr) count_blocks(*spec_.statistics, {&block_, 1});
    checks_bounds_ = bounds_.is_edge(unit_);
    row_index_ =
        unit_ == bounds_.first_unit() ? RowBlock(block_).lower_bound(bounds_.seek_key()) : 0;
    return true;
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  const ScanBounds bounds_;
  const ReadSpec spec_;
  BlockFeed feed_;
  std::uint32_t unit_;
  Slice block_;
  std::uint32_t row_index_ = 0;
  bool checks_bounds_ = bounds_.is_edge(unit_);
  std::string key_;
  RowBuilder out_;
  VersionedRow view_;
};

class RowGroupCursor final : public RowCursor {
 public:
  RowGroupCursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk,
                 KeyBounds bounds, ReadSpec spec, bool use_cache, SkippedUnits skipped)
      : reader_(std::move(reader)),
        chunk_(&chunk),
        bounds_(chunk, std::move(bounds), std::move(skipped)),
        spec_(spec),
        feed_(chunk, use_cache),
        unit_(bounds_.next_unit(bounds_.first_unit())),
        group_(chunk.meta().schema, chunk.layout(), chunk.plan()),
        needed_(group_.needed(spec.columns)) {}

  Step next() override {
    for (;;) {
      if (unit_ == bounds_.end_unit()) return Step::kEnd;
      if (blocks_.empty() && !enter_group()) return Step::kNeedsData;
      while (row_index_ < group_.rows()) {
        const std::uint32_t row = row_index_++;
        group_.key(row, key_);
        key_.append(chunk_->added_keys(), '\0');
        if (checks_bounds_) {
          if (bounds_.below(as_bytes(key_))) continue;
          if (bounds_.beyond(as_bytes(key_))) {
            unit_ = bounds_.end_unit();
            return Step::kEnd;
          }
        }
        out_.clear();
        if (!group_.read(row, spec_, out_)) continue;
        out_.key = as_bytes(key_);
        view_ = out_.row();
        return Step::kRow;
      }
      blocks_.clear();
      unit_ = bounds_.next_unit(unit_ + 1);
    }
  }

  const VersionedRow& row() const override { return view_; }

  Task<Result<void>> load() override {
    const ChunkMeta& meta = chunk_->meta();
    std::vector<std::uint32_t> blocks;
    std::size_t bytes = 0;
    for (std::uint32_t unit = unit_; unit < bounds_.end_unit();
         unit = bounds_.next_unit(unit + 1)) {
      if (unit > unit_ && bytes > feed_.window()) break;
      for (const std::uint32_t place : needed_) {
        blocks.push_back(unit * meta.blocks_per_unit + place);
        bytes += meta.blocks[blocks.back()].size;
      }
    }
    return feed_.load(std::move(blocks));
  }

 private:
  bool enter_group() {
    const ChunkMeta& meta = chunk_->meta();
    const std::uint32_t first = unit_ * meta.blocks_per_unit;
    std::vector<Slice> blocks;
    for (const std::uint32_t place : needed_) {
      blocks.push_back(feed_.get(first + place));
      if (blocks.back().empty()) return false;
    }
    blocks_ = std::move(blocks);
    if (spec_.statistics != nullptr) count_blocks(*spec_.statistics, blocks_);
    group_.begin(meta.blocks[first].rows);
    for (std::size_t i = 0; i < needed_.size(); ++i) group_.set(needed_[i], blocks_[i]);
    checks_bounds_ = bounds_.is_edge(unit_);
    row_index_ = unit_ == bounds_.first_unit() ? group_.lower_bound(bounds_.seek_key()) : 0;
    return true;
  }

  const std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  const ScanBounds bounds_;
  const ReadSpec spec_;
  BlockFeed feed_;
  std::uint32_t unit_;
  RowGroup group_;
  const std::vector<std::uint32_t> needed_;
  std::vector<Slice> blocks_;  // Of the group, in the order of needed_.
  std::uint32_t row_index_ = 0;
  bool checks_bounds_ = true;
  std::string key_;
  RowBuilder out_;
  VersionedRow view_;
};

}  // namespace

std::unique_ptr<RowCursor> make_row_block_cursor(std::shared_ptr<const ChunkReader> reader,
                                                 const OpenChunk& chunk, KeyBounds bounds,
                                                 ReadSpec spec, bool use_cache,
                                                 SkippedUnits skipped) {
  return std::make_unique<RowBlockCursor>(std::move(reader), chunk, std::move(bounds), spec,
                                          use_cache, std::move(skipped));
}

std::unique_ptr<RowCursor> make_row_group_cursor(std::shared_ptr<const ChunkReader> reader,
                                                 const OpenChunk& chunk, KeyBounds bounds,
                                                 ReadSpec spec, bool use_cache,
                                                 SkippedUnits skipped) {
  return std::make_unique<RowGroupCursor>(std::move(reader), chunk, std::move(bounds), spec,
                                          use_cache, std::move(skipped));
}

}  // namespace moraine::table
