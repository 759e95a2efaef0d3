#include "crash/tables/upkeep.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::crash {
namespace {

constexpr std::size_t kTabletsMax = 4;

}  // namespace

void Upkeep::step() {
  const auto table = static_cast<std::uint32_t>(random_.below(kTables));
  Result<void> done;
  switch (random_.below(8)) {
    case 0:
    case 1: done = flush(table); break;
    case 2:
    case 3: done = compact(table); break;
    case 4: done = freeze(table); break;
    case 5: done = remount(table); break;
    default: done = move(table); break;
  }
  if (done) {
    reports_.send(fmt::format("upkeep {} {}", doing_, path_of(table)));
    return;
  }
  std::string text = done.error().message();
  std::ranges::replace(text, '\n', ' ');
  reports_.send(
      fmt::format("violation {} of {} failed: {}", doing_, path_of(table), text.substr(0, 1'000)));
}

Result<void> Upkeep::flush(std::uint32_t table) {
  doing_ = "flush";
  return database_.run(database_.flush_table(path_of(table)));
}

Result<void> Upkeep::compact(std::uint32_t table) {
  doing_ = "compaction";
  return database_.run(database_.compact_table(path_of(table)));
}

Result<void> Upkeep::freeze(std::uint32_t table) {
  doing_ = "freeze";
  TRY_VOID(database_.run(database_.freeze_table(path_of(table))));
  return database_.run(database_.unfreeze_table(path_of(table)));
}

Result<void> Upkeep::remount(std::uint32_t table) {
  doing_ = "remount";
  TRY(const TableReport report, database_.run(database_.describe_table(path_of(table))));
  TableMountOptions mount = report.options.mount;
  mount.max_dynamic_store_bytes = (std::uint64_t{16} << 10) << random_.below(3);
  mount.merge_rows_on_flush = random_.one_in(2);
  mount.enable_lookup_cache_by_default = random_.one_in(2);
  mount.lookup_cache_rows_per_tablet = random_.below(500);
  return database_.run(database_.remount_table(path_of(table), mount));
}

Result<void> Upkeep::move(std::uint32_t table) {
  doing_ = "unmount";
  TRY_VOID(database_.run(database_.unmount_table(path_of(table))));
  const Result<void> changed = change_unmounted(table);
  TRY_VOID(database_.run(database_.mount_table(path_of(table))));
  return changed;
}

Result<void> Upkeep::change_unmounted(std::uint32_t table) {
  switch (random_.below(4)) {
    case 0: doing_ = "reshard"; return reshard(path_of(table));
    case 1: doing_ = "alter"; return alter(table);
    case 2: doing_ = "new options"; return reformat(table);
    default: doing_ = "unmount and mount"; return {};
  }
}

Result<void> Upkeep::reshard(const std::string& path) {
  if (random_.one_in(2)) {
    const auto made = database_.run(database_.reshard_table(path, 1 + random_.below(kTabletsMax)));
    if (!made) return std::unexpected(made.error());
    return {};
  }
  return database_.run(database_.reshard_table(path, draw_pivots(random_)));
}

Result<void> Upkeep::alter(std::uint32_t table) {
  TRY(const TableReport report, database_.run(database_.describe_table(path_of(table))));
  const std::int64_t extras = extras_of(report.schema);
  if (extras == kExtrasMax) return {};
  return database_.run(database_.alter_table(path_of(table), schema_of(table, extras + 1)));
}

Result<void> Upkeep::reformat(std::uint32_t table) {
  TRY(const TableReport report, database_.run(database_.describe_table(path_of(table))));
  TableOptions options = report.options;
  options.optimize_for = random_.one_in(2) ? OptimizeFor::kLookup : OptimizeFor::kScan;
  options.compression_codec = random_.one_in(2) ? "lz4" : "zstd_1";
  options.in_memory_mode = static_cast<InMemoryMode>(random_.below(3));
  options.block_size = std::uint64_t{512} << random_.below(4);
  options.key_filter = random_.one_in(2);
  return database_.run(database_.set_options(path_of(table), options));
}

}  // namespace moraine::crash
