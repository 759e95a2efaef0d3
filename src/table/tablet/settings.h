// Options and limits with which a tablet of a table is mounted.
//
// Promise    Plain data with the defaults of the specification; check() reports contradictions.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "table/chunk/chunk.h"
#include "table/model/key.h"
#include "table/model/retention.h"

namespace moraine::table {

// Rows in memory, in stores of max_dynamic_store_bytes, within these limits.
inline constexpr std::uint64_t kUnflushedStores = 4;
inline constexpr std::uint64_t kUnflushedBytesMin = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kUnflushedBytesMax = std::uint64_t{512} << 20;
// A store is frozen at the latest when it has this part of what may be in memory, so that writes
// continue while it is flushed.
inline constexpr std::uint64_t kUnflushedPartOfStore = 2;
// Limit for all versions of a row, in memory and in chunks.
inline constexpr std::uint64_t kRowBytesMax = std::uint64_t{128} << 20;
// Chunk records in one record of the log; longer lists take several.
inline constexpr std::size_t kLoggedChunkBytesMax = std::size_t{4} << 20;
// All first keys of partitions together: they are one record of the log.
inline constexpr std::size_t kPivotBytesMax = std::size_t{2} << 20;

inline constexpr std::size_t kWriteBytesMax = std::size_t{7} << 20;  // Fits a commit's body.
// A longer write goes to the log in parts of kWritePartBytes.
inline constexpr std::size_t kWritePartBytes = std::size_t{4} << 20;

// Limits that only tests change.
struct TabletLimits {
  std::uint64_t unflushed_bytes_min = kUnflushedBytesMin;
  std::uint64_t unflushed_bytes_max = kUnflushedBytesMax;
  std::uint64_t row_bytes_max = kRowBytesMax;
  std::size_t logged_chunk_bytes_max = kLoggedChunkBytesMax;
  std::size_t pivot_bytes_max = kPivotBytesMax;
  std::size_t write_bytes_max = kWriteBytesMax;
  std::size_t write_part_bytes = kWritePartBytes;
};

// Options that may change while the tablet is mounted (remount).
struct MountConfig : TableMountOptions {
  MountConfig() = default;
  explicit MountConfig(const TableMountOptions& options) : TableMountOptions(options) {}

  RetentionConfig& retention() { return *this; }
  const RetentionConfig& retention() const { return *this; }

  std::uint32_t min_compaction_store_count = 3;
  std::uint32_t max_compaction_store_count = 10;
  std::uint64_t compaction_data_size_base = std::uint64_t{16} << 20;
  double compaction_data_size_ratio = 2.0;
  std::uint32_t max_overlapping_store_count = 30;
  // Chunks made until then are compacted; 0: none. When raised while the tablet runs: all chunks.
  std::uint64_t forced_compaction_ms = 0;
  bool enable_store_flush = true;
  double max_hunk_compaction_garbage_ratio = 0.5;
  bool operator==(const MountConfig&) const = default;
};

struct TabletSettings {
  std::shared_ptr<const TableSchema> schema;
  KeyBounds bounds;  // Of the tablet; an empty `to` is the end.
  std::string table_path;
  Atomicity atomicity = Atomicity::kFull;
  InMemoryMode in_memory_mode = InMemoryMode::kNone;
  ChunkWriteOptions chunks;
  MountConfig mount;
  TabletLimits limits;
};

// Writes are rejected while more bytes than this are unflushed.
std::uint64_t unflushed_bytes_max(const MountConfig& mount, const TabletLimits& limits);
// The active store is frozen at this size: max_dynamic_store_bytes, or less where writes would be
// rejected before.
std::uint64_t store_bytes_max(const MountConfig& mount, const TabletLimits& limits);

// kInvalidArgument: the error names the options that contradict each other.
Result<void> check(const MountConfig& config);

}  // namespace moraine::table
