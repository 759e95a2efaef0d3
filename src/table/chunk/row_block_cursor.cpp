#include "table/chunk/block_feed.h"
#include "table/chunk/open_chunk.h"
#include "table/chunk/row_block.h"
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

}  // namespace

std::unique_ptr<RowCursor> make_row_block_cursor(std::shared_ptr<const ChunkReader> reader,
                                                 const OpenChunk& chunk, KeyBounds bounds,
                                                 ReadSpec spec, bool use_cache,
                                                 SkippedUnits skipped) {
  return std::make_unique<RowBlockCursor>(std::move(reader), chunk, std::move(bounds), spec,
                                          use_cache, std::move(skipped));
}

}  // namespace moraine::table
