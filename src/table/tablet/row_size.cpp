// Limits the size of a row.

#include <fmt/format.h>

#include <algorithm>

#include "table/model/static_rows.h"
#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

// Between two attempts to shrink rows that are too large.
constexpr Duration kLargeRowPauseMin = 60s;
constexpr int kLargeRowPauseTtlShare = 16;  // Share of min_data_ttl: less is not worth a rewrite.
// Tombstones are accepted up to this multiple of the limit: they are short, and let a row shrink.
constexpr std::uint64_t kDeletesFactor = 2;

}  // namespace

// A row whose versions exceed the limit accepts no more of them: everything that reads, merges or
// writes it needs it in memory as a whole.
Result<void> TableTablet::Impl::check_row_sizes(std::span<const RowChange> changes) {
  const std::uint64_t most = settings_.limits.row_bytes_max;
  // Without checking the rows: a transaction adds at most kWriteBytesMax.
  const std::uint64_t fresh = std::min<std::uint64_t>(kWriteBytesMax, most / 2);
  if (stores_->largest_rows_bytes() + fresh <= most) return {};
  for (const RowChange& change : changes) {
    if (change.kind == ChangeKind::kLock) continue;
    const ByteSpan key = as_bytes(change.key);
    const StoreSet::RowBytes now = stores_->row_bytes(key, key_hash(key));
    const std::uint64_t bytes = now.in_memory + now.in_chunks;
    const std::uint64_t bound = change.kind == ChangeKind::kDelete ? kDeletesFactor * most : most;
    if (bytes + change.image.size() <= bound) continue;
    compact_large_row(now);
    return fail(
        Errc::kOverloaded,
        fmt::format("{}: tablet {}: row {} has {} bytes of versions, at most {} are allowed; "
                    "write to it less often, or lower min_data_ttl ({} ms) or "
                    "min_data_versions ({}) so that old versions can be dropped",
                    settings_.table_path, info_.id.value, printable_key(change.key), bytes, most,
                    settings_.mount.retention.min_data_ttl.count(),
                    settings_.mount.retention.min_data_versions));
  }
  return {};
}

// Drops what retention allows to drop of the row now, instead of when it would be worth the
// writing.
void TableTablet::Impl::compact_large_row(const StoreSet::RowBytes& row) {
  const MountConfig& mount = settings_.mount;
  const Instant now = executor().now();
  if (now < next_large_row_compaction_) return;
  next_large_row_compaction_ =
      now +
      std::max<Duration>(kLargeRowPauseMin, mount.retention.min_data_ttl / kLargeRowPauseTtlShare);
  const bool in_active = stores_->active().store->largest_row_bytes() >= row.in_memory / 2;
  if (mount.enable_store_flush && row.in_memory >= row.in_chunks && in_active) {
    stores_->rotate(now);
  }
  maintenance_->compact_soon(row.chunks);
}

}  // namespace moraine::table
