// ChunkBuild: rows in key order become durable chunks.
//
// Promise    Every row that retention leaves is in exactly one of the chunks. A chunk never crosses
//            a cut. Where many tombstones lie side by side they get a chunk of their own, so that
//            they can vanish together with what they delete.
// Threading  Begins and ends on the tablet's executor; merging and packing on the background one,
//            loading and putting on the tablet's. Where both are one it yields often.
// Limits     kBuildBytesInFlightMax bytes of finished blobs being put. Chunks of about
//            kChunkBytesMax. Ends between two blobs when it is told to stop.
// Errors     Of the cursor and the log. kUnavailable: stopped.
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
#include "table/tablet/maintenance.h"

namespace moraine::table {

// So many rows of one kind (tombstones or not) side by side end a chunk where the other begins.
inline constexpr std::size_t kStreakRows = 256;
inline constexpr std::size_t kStreakCutsMax = 8;  // Of one build.

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
  std::optional<RetentionConfig> retention;  // nullopt: all versions stay.
  RetentionScope scope;                      // oldest_elsewhere is found for each row.
  std::vector<OutsideStore> outside;
  bool tombstones_always_go = false;      // A seeded bug.
  std::set<blob::BlobId> unwanted_hunks;  // Their values are written anew.
  // Becomes the key of the row that could not be written, if that is why it fails. Outlives it.
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
