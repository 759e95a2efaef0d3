// Reading columns of a chunk.
#pragma once

#include <memory>
#include <span>

#include "table/chunk/open_chunk.h"

namespace moraine::table {

// Null when the chunk cannot be read so. `reader` owns `chunk`, which has the scan format.
std::unique_ptr<ChunkReader::ColumnCursor> make_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    const ColumnScan& scan);
// The same for the lookup format: rows become columns without being merged first.
std::unique_ptr<ChunkReader::ColumnCursor> make_row_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    const ColumnScan& scan);

}  // namespace moraine::table
