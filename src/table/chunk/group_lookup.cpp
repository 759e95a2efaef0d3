#include "table/chunk/group_lookup.h"

#include <algorithm>

#include "table/chunk/row_group.h"

namespace moraine::table {
namespace {

const Slice* block_of(const OpenChunk& chunk, std::uint32_t block,
                      std::span<const std::pair<std::uint32_t, Slice>> pins) {
  for (const auto& [pinned, bytes] : pins) {
    if (pinned == block) return &bytes;
  }
  return chunk.find(block);
}

}  // namespace

ChunkReader::Found lookup_in_group(const OpenChunk& chunk, std::uint32_t unit, ByteSpan key,
                                   const ReadSpec& spec, RowBuilder& out,
                                   std::vector<std::uint32_t>& missing,
                                   std::span<const std::pair<std::uint32_t, Slice>> pins) {
  using Found = ChunkReader::Found;
  const ChunkMeta& meta = chunk.meta();
  const std::uint32_t first = unit * meta.blocks_per_unit;
  RowGroup group(meta.schema, chunk.layout(), chunk.plan());
  group.begin(meta.blocks[first].rows);
  bool complete = true;
  for (const std::uint32_t place : group.needed(spec.columns)) {
    const Slice* block = block_of(chunk, first + place, pins);
    if (block == nullptr) {
      missing.push_back(first + place);
      complete = false;
    } else if (complete) {
      group.set(place, *block);
    }
  }
  if (!complete) return Found::kNeedsBlocks;
  const std::uint32_t row = group.lower_bound(key);
  std::string found;
  if (row < group.rows()) group.key(row, found);
  if (row == group.rows() || as_text(key) != found) {
    if (spec.use_key_filter && !meta.filter.empty()) {
      chunk.lookup_counters().add(ChunkReadCounters::kFilterFalsePositives, 1);
    }
    return Found::kNo;
  }
  return group.read(row, spec, out) ? Found::kYes : Found::kNo;
}

}  // namespace moraine::table
