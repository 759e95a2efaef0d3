// Finding one row in a row group.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "table/chunk/open_chunk.h"

namespace moraine::table {

// As ChunkReader::lookup, in a unit of a chunk of the scan format; `key` is a key of the chunk.
ChunkReader::Found lookup_in_group(const OpenChunk& chunk, std::uint32_t unit, ByteSpan key,
                                   const ReadSpec& spec, RowBuilder& out,
                                   std::vector<std::uint32_t>& missing,
                                   std::span<const std::pair<std::uint32_t, Slice>> pins);

}  // namespace moraine::table
