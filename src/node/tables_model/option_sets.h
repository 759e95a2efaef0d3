// Twenty ways to keep the same table. For tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "moraine/table_options.h"

namespace moraine {

struct OptionSet {
  std::string name;
  TableOptions options;
};

namespace option_set {

using SetOption = std::function<void(TableOptions&)>;

inline void scan_format(TableOptions& o) {
  o.optimize_for = OptimizeFor::kScan;
}
inline void tiny_blocks(TableOptions& o) {
  o.block_size = 64;
}
inline void tiny_stores(TableOptions& o) {
  o.mount.max_dynamic_store_row_count = 4;
}
inline void small_stores(TableOptions& o) {
  o.mount.max_dynamic_store_bytes = 4'096;
}
inline void merge_on_flush(TableOptions& o) {
  o.mount.merge_rows_on_flush = true;
}
inline void tiny_partitions(TableOptions& o) {
  o.mount.min_partition_data_size = 300;
  o.mount.desired_partition_data_size = 600;
  o.mount.max_partition_data_size = 1'000;
}
inline void no_compaction(TableOptions& o) {
  o.mount.enable_compaction_and_partitioning = false;
}
inline void row_cache(TableOptions& o) {
  o.mount.lookup_cache_rows_per_tablet = 1'000;
  o.mount.enable_lookup_cache_by_default = true;
}
inline void small_row_cache(TableOptions& o) {
  o.mount.lookup_cache_rows_per_tablet = 5;
  o.mount.enable_lookup_cache_by_default = true;
}
inline void compressed_memory(TableOptions& o) {
  o.in_memory_mode = InMemoryMode::kCompressed;
}
inline void uncompressed_memory(TableOptions& o) {
  o.in_memory_mode = InMemoryMode::kUncompressed;
}
inline void periodic(TableOptions& o) {
  o.mount.auto_compaction_period = std::chrono::minutes(5);
  o.mount.dynamic_store_auto_flush_period = std::chrono::minutes(1);
}
inline void no_filter(TableOptions& o) {
  o.key_filter = false;
}
inline SetOption codec(std::string name) {
  return [name](TableOptions& o) { o.compression_codec = name; };
}

}  // namespace option_set

inline const std::vector<OptionSet>& option_sets() {
  using namespace option_set;
  static const auto make = [](std::string name, std::vector<SetOption> changes) {
    OptionSet set{std::move(name), {}};
    for (const SetOption& change : changes) change(set.options);
    return set;
  };
  static const std::vector<OptionSet> kSets = {
      make("defaults", {}),
      make("scan", {scan_format}),
      make("tiny blocks", {tiny_blocks, codec("none")}),
      make("tiny stores", {tiny_stores}),
      make("scan, tiny stores", {scan_format, tiny_stores}),
      make("tiny stores, no compaction", {tiny_stores, no_compaction}),
      make("merge on flush", {merge_on_flush, small_stores}),
      make("merge on flush, tiny stores", {merge_on_flush, tiny_stores, scan_format}),
      make("tiny partitions", {tiny_partitions, small_stores}),
      make("tiny partitions, scan", {tiny_partitions, tiny_stores, scan_format}),
      make("row cache", {row_cache, small_stores}),
      make("row cache, scan", {row_cache, tiny_stores, scan_format}),
      make("small row cache", {small_row_cache, small_stores, tiny_blocks}),
      make("row cache, merge on flush", {row_cache, merge_on_flush, tiny_stores}),
      make("compressed in memory", {compressed_memory, small_stores, codec("zstd_3")}),
      make("uncompressed in memory", {uncompressed_memory, tiny_stores, codec("zlib_6")}),
      make("uncompressed in memory, scan", {uncompressed_memory, scan_format, tiny_partitions}),
      make("periodic", {periodic, codec("snappy")}),
      make("periodic, scan, no filter", {periodic, scan_format, no_filter, tiny_partitions}),
      make("all at once", {row_cache, merge_on_flush, tiny_stores, tiny_partitions, tiny_blocks,
                           periodic, codec("lz4_high_compression")}),
  };
  return kSets;
}

}  // namespace moraine
