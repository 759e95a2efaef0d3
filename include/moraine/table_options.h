// How a table is stored: attributes of tables, with the defaults and names of YTsaurus.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace moraine {

// The numbers of OptimizeFor are stored in chunks.
enum class OptimizeFor : std::uint8_t { kLookup = 0, kScan = 1 };
enum class Atomicity : std::uint8_t { kFull = 0, kNone = 1 };
enum class InMemoryMode : std::uint8_t { kNone = 0, kCompressed = 1, kUncompressed = 2 };

// A version may be dropped when max_* permits it, by number or age, and neither min_* forbids it.
struct RetentionConfig {
  std::uint32_t min_data_versions = 1;
  std::uint32_t max_data_versions = 1;
  std::chrono::milliseconds min_data_ttl = std::chrono::minutes(30);
  std::chrono::milliseconds max_data_ttl = std::chrono::minutes(30);
  bool operator==(const RetentionConfig&) const = default;
};

// Options are stored when they are set, and take effect once the table is mounted or remounted.
struct TableMountOptions : RetentionConfig {
  std::optional<std::chrono::milliseconds> auto_compaction_period;
  // A command rather than a setting. Any value except 0, also the same one as before, compacts all
  // rows written before the next remount or mount; 0 does nothing. Reports return 0 here, so that
  // options which were read, changed and set again do not repeat the command.
  std::uint64_t forced_compaction_revision = 0;
  double lookup_cache_rows_ratio = 0;  // Of the rows of the tablet; used when above 0.
  std::uint64_t lookup_cache_rows_per_tablet = 0;
  bool enable_lookup_cache_by_default = false;
  bool enable_key_filter_for_lookup = true;  // Lookups use the key filters of chunks.
  std::uint64_t max_dynamic_store_row_count = 1'000'000;
  std::uint64_t max_dynamic_store_bytes = std::uint64_t{128} << 20;
  std::chrono::milliseconds dynamic_store_auto_flush_period = std::chrono::minutes(15);
  bool merge_rows_on_flush = false;
  bool enable_compaction_and_partitioning = true;
  std::uint64_t min_partition_data_size = std::uint64_t{96} << 20;
  std::uint64_t desired_partition_data_size = std::uint64_t{256} << 20;
  std::uint64_t max_partition_data_size = std::uint64_t{320} << 20;
  bool operator==(const TableMountOptions&) const = default;
};

// Format, codec, block size and filter apply to chunks written after the change.
struct TableOptions {
  OptimizeFor optimize_for = OptimizeFor::kLookup;
  std::string compression_codec = "lz4";
  Atomicity atomicity = Atomicity::kFull;             // Can change only while unmounted.
  InMemoryMode in_memory_mode = InMemoryMode::kNone;  // Likewise.
  std::uint64_t block_size = 0;                       // For the lookup format; 0: the default.
  bool key_filter = true;
  TableMountOptions mount;
  bool operator==(const TableOptions&) const = default;
};

}  // namespace moraine
