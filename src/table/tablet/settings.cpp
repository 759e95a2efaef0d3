#include "table/tablet/settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::table {
namespace {

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, "mount options: " + std::move(why));
}

template <class T>
Result<void> at_most(std::string_view low_name, T low, std::string_view high_name, T high) {
  if (low <= high) return {};
  return refuse(fmt::format("{} {} is above {} {}", low_name, low, high_name, high));
}

Result<void> check_retention(const RetentionConfig& config) {
  if (config.min_data_ttl.count() < 0) return refuse("min_data_ttl is negative");
  if (config.max_data_ttl.count() < 0) return refuse("max_data_ttl is negative");
  return {};
}

Result<void> check_partitions(const MountConfig& config) {
  TRY_VOID(at_most("min_partition_data_size", config.min_partition_data_size,
                   "desired_partition_data_size", config.desired_partition_data_size));
  TRY_VOID(at_most("desired_partition_data_size", config.desired_partition_data_size,
                   "max_partition_data_size", config.max_partition_data_size));
  TRY_VOID(at_most("min_compaction_store_count", config.min_compaction_store_count,
                   "max_compaction_store_count", config.max_compaction_store_count));
  if (config.max_partition_data_size == 0) return refuse("max_partition_data_size is 0");
  if (config.min_compaction_store_count == 0) return refuse("min_compaction_store_count is 0");
  if (config.max_overlapping_store_count == 0) return refuse("max_overlapping_store_count is 0");
  if (!(config.compaction_data_size_ratio >= 1)) {
    return refuse("compaction_data_size_ratio is below 1");
  }
  return {};
}

}  // namespace

std::uint64_t unflushed_bytes_max(const MountConfig& mount, const TabletLimits& limits) {
  const std::uint64_t store = std::min(mount.max_dynamic_store_bytes, limits.unflushed_bytes_max);
  return std::clamp(kUnflushedStores * store, limits.unflushed_bytes_min,
                    limits.unflushed_bytes_max);
}

std::uint64_t store_bytes_max(const MountConfig& mount, const TabletLimits& limits) {
  return std::min(mount.max_dynamic_store_bytes,
                  unflushed_bytes_max(mount, limits) / kUnflushedPartOfStore);
}

Result<void> check(const MountConfig& config) {
  TRY_VOID(check_retention(config));
  TRY_VOID(check_partitions(config));
  if (config.max_dynamic_store_row_count == 0) return refuse("max_dynamic_store_row_count is 0");
  if (config.max_dynamic_store_bytes == 0) return refuse("max_dynamic_store_bytes is 0");
  if (config.dynamic_store_auto_flush_period.count() <= 0) {
    return refuse("dynamic_store_auto_flush_period is not positive");
  }
  if (config.auto_compaction_period && config.auto_compaction_period->count() <= 0) {
    return refuse("auto_compaction_period is not positive");
  }
  if (!(config.lookup_cache_rows_ratio >= 0 && config.lookup_cache_rows_ratio <= 1)) {
    return refuse("lookup_cache_rows_ratio is not within 0 and 1");
  }
  const double garbage = config.max_hunk_compaction_garbage_ratio;
  if (!(garbage >= 0 && garbage <= 1)) {
    return refuse("max_hunk_compaction_garbage_ratio is not within 0 and 1");
  }
  return {};
}

}  // namespace moraine::table
