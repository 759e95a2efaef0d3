// ChunkWriter: rows in, blobs out.
//
// Promise    Writes rows of ascending keys as a chunk of the requested format. Data blobs are
//            emitted as they become full; the meta blob refers to them by ordinal, so their ids may
//            be assigned later. Deterministic: equal rows give equal bytes.
// Threading  One thread at a time, any.
// Limits     Blobs of at most kChunkBlobBytesMax; the caller ends a chunk when bytes() is near
//            kChunkBytesMax. Rows of at most kEncodedRowBytesMax.
// Errors     kInvalidArgument: a value of another type than its column, a row that is too large.
// Tests      chunk_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

struct FinishedChunk {
  std::vector<Slice> blobs;       // Blobs that take_blob() has not returned yet.
  std::vector<Slice> hunk_blobs;  // Likewise.
  Slice meta;
  std::vector<HunkUse> hunks;  // New ones first, in the order of the hunk blobs.
  ChunkStatistics statistics;
};

class ChunkWriter {
 public:
  ChunkWriter(std::shared_ptr<const TableSchema> schema, ChunkWriteOptions options);
  ~ChunkWriter();

  // Requires: above every key before it. Values of type hunk are kept as references; values longer
  // than their column's max_inline_hunk_size are written to this chunk's hunk blobs.
  Result<void> add(const VersionedRow& row);
  // nullopt: none is full.
  std::optional<Slice> take_blob();
  std::optional<Slice> take_hunk_blob();

  std::uint64_t rows() const;
  // Compressed bytes so far; more when the meta is closer to its limit (many small rows, long keys)
  // than the data to theirs.
  std::uint64_t bytes() const;
  // Requires: at least one row.
  Result<FinishedChunk> finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace moraine::table
