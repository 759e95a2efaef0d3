// ChunkBuild: writes rows in key order to durable chunks.
//
// Promise    Every row that retention keeps is in exactly one of the chunks. A chunk never crosses
//            a cut. A long sequence of adjacent tombstones gets a chunk of its own, so that it can
//            be dropped together with the rows that it deletes.
// Threading  Begins and ends on the tablet's executor; merges and packs on the background one,
//            loads and puts on the tablet's. Where both are the same it yields often.
// Limits     kBuildBytesInFlightMax bytes of finished blobs being written. Chunks of about
//            kChunkBytesMax. When stopped it ends between two blobs.
// Errors     Those of the cursor and the log. kUnavailable: stopped.
// Tests      maintenance_test.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "table/chunk/chunk_writer.h"
#include "table/model/retention.h"
#include "table/model/row_cursor.h"
#include "table/tablet/maintenance/maintenance.h"

namespace moraine::table {

// This many adjacent rows of one kind (tombstones or not) end a chunk where the other kind begins.
inline constexpr std::size_t kStreakRows = 256;
inline constexpr std::size_t kStreakCutsMax = 8;  // Per build.

// A store that is not part of the merge.
struct OutsideStore {
  std::string first;
  std::string last;  // Included.
  Timestamp min_timestamp = 0;
};

struct BuildSpec {
  std::uint64_t build = 0;
  std::shared_ptr<const TableSchema> schema;
  ChunkWriteOptions options;
  std::vector<std::string> cuts;             // Ascending.
  std::optional<RetentionConfig> retention;  // nullopt: all versions are kept.
  RetentionScope scope;                      // oldest_elsewhere is computed for each row.
  std::vector<OutsideStore> outside;
  bool drops_all_tombstones = false;      // A seeded bug.
  std::set<blob::BlobId> unwanted_hunks;  // Their values are rewritten.
  // Set to the key of the row that could not be written, if that is why the build fails. Must
  // outlive the build.
  std::string* refused_key = nullptr;
};

struct BuiltChunk {
  ChunkRecord record;
  Slice meta;
};

struct BuildOutcome {
  std::vector<BuiltChunk> chunks;
  bool dropped = false;  // Something was dropped or folded.
  std::uint64_t rows = 0;
};

struct BuildPlaces {
  Executor& lane;
  Executor& background;
  WallClock& clock;
  StoreLog& log;
  BlobReader& blobs;
  const std::atomic<bool>& stopping;
};

Task<Result<BuildOutcome>> build_chunks(BuildPlaces places, BuildSpec spec,
                                        std::unique_ptr<RowCursor> rows);

}  // namespace moraine::table
