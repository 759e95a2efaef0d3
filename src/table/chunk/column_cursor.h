// Reading columns of a chunk of the lookup format: rows become columns without being merged first.
// (Those of the scan format: group_cursor.h.)
#pragma once

#include <memory>

#include "table/chunk/open_chunk.h"

namespace moraine::table {

// Null when the chunk cannot be read so. `reader` owns `chunk`.
std::unique_ptr<ChunkReader::ColumnCursor> make_row_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    const ColumnScan& scan);

}  // namespace moraine::table
