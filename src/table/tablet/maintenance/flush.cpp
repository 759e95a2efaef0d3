// Writes rows to new chunks: those of a frozen memory store (flush), and those of static tables.

#include <fmt/format.h>

#include <algorithm>

#include "table/tablet/maintenance/maintenance_impl.h"

namespace moraine::table {
namespace {

constexpr std::size_t kRowsPerTurn = 256;

ReadSpec everything() {
  ReadSpec spec;
  spec.all_versions = true;
  return spec;
}

}  // namespace

void Maintenance::Impl::rotate_if_due() {
  const MountConfig& mount = settings_.mount;
  if (!mount.enable_store_flush) return;
  const OpenMemoryStore& active = stores_.active();
  if (active.store->rows() == 0) return;
  const bool full = active.store->rows() >= mount.max_dynamic_store_row_count ||
                    active.store->bytes() >= store_bytes_max(mount, settings_.limits);
  const bool old = now() - active.created >= mount.dynamic_store_auto_flush_period;
  if (full || old) stores_.rotate(now());
}

OpenMemoryStore* Maintenance::Impl::oldest_frozen() {
  auto& stores = stores_.memory_stores();
  return stores.size() < 2 ? nullptr : &stores.front();
}

// All commits promised to the store are applied, and no reader waits for a mark in it. Transactions
// are short, so are these waits.
bool Maintenance::Impl::ready(const OpenMemoryStore& store) const {
  if (has_bug(SeededBug::kFlushLosesTail)) return store.prepared == 0;
  return store.unconfirmed == 0 && store.prepared == 0;
}

bool Maintenance::Impl::flush_due() {
  const OpenMemoryStore* store = oldest_frozen();
  if (!store || !ready(*store)) return false;
  return settings_.mount.enable_store_flush || flush_calls_ > 0;
}

Instant Maintenance::Impl::next_flush_look() {
  const MountConfig& mount = settings_.mount;
  Instant next = retired_chunks_.empty() ? Instant::never() : now() + kGraveyardPause;
  const bool wanted = mount.enable_store_flush || flush_calls_ > 0;
  if (oldest_frozen() && wanted) next = std::min(next, now() + kUnreadyStorePause);
  if (mount.enable_store_flush) {
    // The first row of a store is not reported: polled, four times per period.
    const Duration period = mount.dynamic_store_auto_flush_period;
    const Instant old = stores_.active().created + period;
    next = std::min(next, old > now() ? old : now() + period / 4 + kUnreadyStorePause);
  }
  return next;
}

Task<Result<void>> Maintenance::Impl::flush(StoreNumber number) {
  const std::shared_ptr<MemoryStore> store = stores_.memory(number)->store;
  StoreLog::Replace change;
  change.flushed = {number};
  if (store->max_timestamp() == 0) co_return co_await install(std::move(change), {});

  BuildSpec spec = new_build();
  change.build = spec.build;
  if (settings_.mount.merge_rows_on_flush) {
    spec.retention = settings_.mount.retention();
    spec.scope = scope(store->max_timestamp());
    spec.outside = outside({}, store.get(), store->max_timestamp());
  }
  const Timestamp retained = horizon(store->max_timestamp());
  auto built = co_await build_chunks(places(Urgency::kFlush), std::move(spec),
                                     store->scan(kept_rows(), everything()));
  if (!built) {
    co_await abandon_build(change.build);
    co_return std::unexpected(std::move(built).error());
  }
  if (built->dropped) change.retained_timestamp = retained;
  co_await update_cached_rows(store);
  CO_TRY_VOID(co_await install(std::move(change), std::move(built->chunks)));
  ++counted_.flushes;
  co_return Result<void>{};
}

// Updates cached rows with what the new chunks will have, before readers see those.
Task<void> Maintenance::Impl::update_cached_rows(std::shared_ptr<MemoryStore> store) {
  if (has_bug(SeededBug::kRowCacheNotUpdated)) co_return;
  cache_.begin_flush(stores_.flush_revision() + 1);
  if (cache_.rows_max() == 0) co_return;
  const auto rows = store->scan({}, everything());
  for (std::size_t i = 1;; ++i) {
    if (i % kRowsPerTurn == 0) co_await yield(resources_.world.executor);
    const RowCursor::Step step = rows->next();
    if (step != RowCursor::Step::kRow) break;  // Rows in memory need no loading.
    const VersionedRow& row = rows->row();
    cache_.update(row, key_hash(row.key));
  }
}

// Of the rows that a static table has: their number, and the last key.
Maintenance::Impl::StaticEnd Maintenance::Impl::static_end() const {
  StaticEnd end;
  for (const auto& [id, reader] : stores_.chunks()) {
    end.rows += reader->record().statistics.rows;
    end.last = std::max(end.last, reader->record().statistics.last_key);
  }
  return end;
}

Task<Result<void>> Maintenance::Impl::write_static(std::shared_ptr<const StaticRows> rows,
                                                   Timestamp timestamp, StaticWrite how) {
  const bool replaces = how == StaticWrite::kReplace;
  if (rows->empty() && !replaces) co_return Result<void>{};
  CO_TRY(const StaticEnd end, begin_static(how));
  if (!rows->empty()) {
    CO_TRY_VOID(rows->check_above(end.rows, end.last));
  }
  CO_TRY(BuiltStatic built,
         co_await build_static(StaticRows::cursor(std::move(rows), end.rows, timestamp)));
  if (replaces) built.change.retained_timestamp = timestamp;
  co_return co_await install_static(std::move(built), how);
}

Task<Result<void>> Maintenance::Impl::write_static(StaticBatches rows, Timestamp timestamp,
                                                   StaticWrite how, BeginInstall begin) {
  CO_TRY(StaticEnd end, begin_static(how));
  CO_TRY(BuiltStatic built, co_await build_static(StaticRows::cursor(
                                std::move(rows), end.rows, std::move(end.last), timestamp)));
  const auto seen_from = co_await begin();
  if (!seen_from) {
    co_await abandon_build(built.change.build);
    co_return std::unexpected(seen_from.error());
  }
  built.change.retained_timestamp = *seen_from;
  co_return co_await install_static(std::move(built), how);
}

// Where the new rows begin.
Result<Maintenance::Impl::StaticEnd> Maintenance::Impl::begin_static(StaticWrite how) const {
  if (how == StaticWrite::kReplace) return StaticEnd{};
  if (!stores_.damaged().empty()) return std::unexpected(stores_.damaged().front().error);
  return static_end();
}

Task<Result<Maintenance::Impl::BuiltStatic>> Maintenance::Impl::build_static(
    std::unique_ptr<RowCursor> rows) {
  BuiltStatic made;
  BuildSpec spec = new_build();
  made.change.build = spec.build;
  auto built = co_await build_chunks(places(Urgency::kFlush), std::move(spec), std::move(rows));
  if (!built) {
    co_await abandon_build(made.change.build);
    co_return std::unexpected(std::move(built).error());
  }
  made.chunks = std::move(built->chunks);
  co_return made;
}

// No compaction runs while rows are replaced: its result would be rows that are gone. Damaged
// chunks go, too.
Task<Result<void>> Maintenance::Impl::install_static(BuiltStatic built, StaticWrite how) {
  if (how == StaticWrite::kAppend) {
    co_return co_await install(std::move(built.change), std::move(built.chunks));
  }
  replacing_ = true;
  while (compacting_ && !scope_.closed()) co_await turn_ended_.wait();
  if (scope_.closed()) co_return fail(Errc::kUnavailable, "the tablet is stopping");
  StoreLog::Replace& change = built.change;
  change.replaces_rows = true;
  for (const auto& [id, reader] : stores_.chunks()) change.removed.push_back(id);
  for (const DamagedChunk& chunk : stores_.damaged()) change.removed.push_back(chunk.id);
  // Rows that are read from now on from the chunks of before do not enter the cache.
  cache_.begin_flush(stores_.flush_revision() + 1);
  auto replaced = co_await install(std::move(change), std::move(built.chunks));
  if (!replaced) cache_.begin_flush(stores_.flush_revision());
  replacing_ = false;
  compact_wakes_.set();
  co_return replaced;
}

}  // namespace moraine::table
