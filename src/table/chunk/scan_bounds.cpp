#include "table/chunk/scan_bounds.h"

namespace moraine::table {

ScanBounds::ScanBounds(const OpenChunk& chunk, KeyBounds bounds, SkippedUnits skipped)
    : bounds_(std::move(bounds)), skipped_(std::move(skipped)) {
  const ChunkRecord& record = chunk.record();
  bounds_.from = std::max(bounds_.from, record.from);
  if (bounds_.to.empty() || (!record.to.empty() && record.to < bounds_.to)) bounds_.to = record.to;
  seek_key_ = as_text(without_added_columns(as_bytes(bounds_.from), chunk.added_keys()));
  const ChunkMeta& meta = chunk.meta();
  if (!bounds_.to.empty() && bounds_.from >= bounds_.to) return;
  first_unit_ = static_cast<std::uint32_t>(meta.index.find(seek_key()));
  end_unit_ = static_cast<std::uint32_t>(
      bounds_.to.empty() ? meta.units() : meta.index.find(as_bytes(bounds_.to)) + 1);
}

}  // namespace moraine::table
