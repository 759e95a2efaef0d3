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
#include "table/chunk/chunk.h"
#include "table/model/key.h"
#include "table/model/retention.h"

namespace moraine::table {

enum class Atomicity : std::uint8_t { kFull = 0, kNone = 1 };
enum class InMemoryMode : std::uint8_t { kNone = 0, kCompressed = 1, kUncompressed = 2 };

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

// Limits that only tests change.
struct TabletLimits {
  std::uint64_t unflushed_bytes_min = kUnflushedBytesMin;
  std::uint64_t unflushed_bytes_max = kUnflushedBytesMax;
  std::uint64_t row_bytes_max = kRowBytesMax;
  std::size_t logged_chunk_bytes_max = kLoggedChunkBytesMax;
  std::size_t pivot_bytes_max = kPivotBytesMax;
};

// Options that may change while the tablet is mounted (remount).
struct MountConfig {
  RetentionConfig retention;

  std::uint64_t max_dynamic_store_row_count = 1'000'000;
  std::uint64_t max_dynamic_store_bytes = std::uint64_t{128} << 20;
  std::chrono::milliseconds dynamic_store_auto_flush_period = std::chrono::minutes(15);
  bool merge_rows_on_flush = false;

  std::uint64_t min_partition_data_size = std::uint64_t{96} << 20;
  std::uint64_t desired_partition_data_size = std::uint64_t{256} << 20;
  std::uint64_t max_partition_data_size = std::uint64_t{320} << 20;
  std::uint32_t min_compaction_store_count = 3;
  std::uint32_t max_compaction_store_count = 10;
  std::uint64_t compaction_data_size_base = std::uint64_t{16} << 20;
  double compaction_data_size_ratio = 2.0;
  std::uint32_t max_overlapping_store_count = 30;
  std::optional<std::chrono::milliseconds> auto_compaction_period;
  std::uint64_t forced_compaction_revision = 0;
  // Chunks made until then are compacted; 0: none. When raised while the tablet runs: all chunks.
  std::uint64_t forced_compaction_ms = 0;
  bool enable_compaction_and_partitioning = true;
  bool enable_store_flush = true;
  double max_hunk_compaction_garbage_ratio = 0.5;

  std::uint64_t lookup_cache_rows_per_tablet = 0;
  double lookup_cache_rows_ratio = 0;  // Of the rows of the tablet; used when above 0.
  bool enable_lookup_cache_by_default = false;
  bool enable_key_filter_for_lookup = true;
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
