// Writes of one tablet: from the check to the versions in memory.

#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.h"
#include "table/memory/mark_rules.h"
#include "table/model/no_timestamp.h"
#include "table/model/schema_codec.h"
#include "table/model/static_rows.h"
#include "table/tablet/table_impl.h"

namespace moraine::table {
namespace {

// Between two attempts to shrink rows that are too large.
constexpr Duration kLargeRowPauseMin = 60s;
constexpr int kLargeRowPauseTtlShare = 16;  // Share of min_data_ttl: less is not worth a rewrite.
// Tombstones are accepted up to this multiple of the limit: they are short, and let a row shrink.
constexpr std::uint64_t kDeletesFactor = 2;

// Announces the range of rows that will be written.
std::uint64_t announce(DeletedRange& range, std::span<const RowChange> changes) {
  const auto writes = [](const RowChange& change) { return change.kind == ChangeKind::kWrite; };
  const auto first = std::ranges::find_if(changes, writes);
  if (first == changes.end()) return 0;
  const auto last = std::find_if(changes.rbegin(), changes.rend(), writes);
  return range.begin_write(first->key, last->key);
}

Result<void> check_change(const RowChange& change, const TableSchema& schema) {
  if (change.key.size() > kKeyBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("a key of {} bytes", change.key.size()));
  }
  const auto key = check_key(as_bytes(change.key), schema);
  if (!key) return fail(Errc::kInvalidArgument, key.error().context);
  if (change.kind != ChangeKind::kWrite) return {};
  const auto image = check_image(as_bytes(change.image), schema);
  if (!image) return fail(Errc::kInvalidArgument, image.error().context);
  return {};
}

}  // namespace

Result<void> TableTablet::Impl::may_write() const {
  if (leader_->ended()) return std::unexpected(*leader_->ended());
  if (frozen_ || stopping_) {
    return fail(
        Errc::kReadOnly,
        fmt::format("Tablet {} of table {} is in \"frozen\" state while \"mounted\" expected",
                    info_.id.value, settings_.table_path));
  }
  const std::size_t bytes = stores_->memory_bytes();
  const MountConfig& mount = settings_.mount;
  // The log that is kept is as long.
  if (bytes > unflushed_bytes_max(mount, settings_.limits)) {
    return fail(Errc::kOverloaded, fmt::format("{}: tablet {} has {} bytes that are not flushed",
                                               settings_.table_path, info_.id.value, bytes));
  }
  if (memory_->full()) {
    return fail(Errc::kOverloaded,
                fmt::format("{}: the node's memory for unflushed rows is full ({} bytes); the "
                            "largest tablets are being flushed: retry",
                            settings_.table_path, resources_.store_budget->bytes_max()));
  }
  // Otherwise writers that are faster than compaction would fill the device with dead data.
  const std::size_t overlapping = stores_->eden_size();
  if (overlapping > mount.max_overlapping_store_count && mount.enable_compaction_and_partitioning) {
    return fail(Errc::kOverloaded,
                fmt::format("{}: tablet {} has {} overlapping stores; compaction is behind",
                            settings_.table_path, info_.id.value, overlapping));
  }
  return {};
}

// Accepts rows while there is enough space to flush and merge what is in memory; deletes, which
// free space, a little longer.
Task<Result<void>> TableTablet::Impl::check_space(std::span<const RowChange> changes) {
  const bool writes =
      std::ranges::find(changes, ChangeKind::kWrite, &RowChange::kind) != changes.end();
  const blob::Colour most = writes ? kColourToStop : kColourToKeepChunks;
  if (leader_->colour() < most) co_return Result<void>();
  const auto colour = co_await leader_->ask_colour();
  if (!colour || *colour < most) co_return Result<void>();
  co_return fail(Errc::kNoSpace,
                 fmt::format("{}: tablet {}: the disks are nearly full; delete rows or remove "
                             "tables",
                             settings_.table_path, info_.id.value));
}

// The table may have been altered since the changes were encoded. Schemas are compared once.
Result<void> TableTablet::Impl::check_schema(const TabletWrite& write) {
  const std::shared_ptr<const TableSchema>& encoded_with = write.schema;
  if (encoded_with && encoded_with == writers_schema_) return {};
  if (!encoded_with && write.schema_fingerprint == 0) return {};
  if (!encoded_with && schema_fingerprint_ == 0) {
    schema_fingerprint_ = schema_fingerprint(*settings_.schema);
  }
  const bool same = encoded_with ? *encoded_with == *settings_.schema
                                 : write.schema_fingerprint == schema_fingerprint_;
  if (!same) {
    return fail(Errc::kAborted,
                fmt::format("{} was altered while the transaction was being committed; retry it",
                            settings_.table_path));
  }
  if (encoded_with) writers_schema_ = encoded_with;
  return {};
}

Result<void> TableTablet::Impl::check_write(const TabletWrite& write) const {
  if (write.changes.size() > kRowsPerTransactionMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a transaction changes {} rows of a tablet; at most {} are allowed",
                            write.changes.size(), kRowsPerTransactionMax));
  }
  std::size_t bytes = 0;
  const RowChange* previous = nullptr;
  const KeyBounds& bounds = settings_.bounds;
  for (const RowChange& change : write.changes) {
    TRY_VOID(check_change(change, *settings_.schema));
    bytes += change_bytes(change);
    if (previous != nullptr && previous->key >= change.key) {
      return fail(Errc::kInvalidArgument, "rows of a write are not in the order of their keys");
    }
    previous = &change;
  }
  if (!write.changes.empty() && (write.changes.front().key < bounds.from ||
                                 (!bounds.to.empty() && write.changes.back().key >= bounds.to))) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a row is not in the range of tablet {}", info_.id.value));
  }
  if (bytes > kLongWriteBytesMax) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{}: a transaction changes {} bytes of tablet {}; at most {} are allowed",
                    settings_.table_path, bytes, info_.id.value, kLongWriteBytesMax));
  }
  return {};
}

// A row whose versions exceed the limit accepts no more of them: everything that reads, merges or
// writes it needs it in memory as a whole.
Result<void> TableTablet::Impl::check_row_sizes(std::span<const RowChange> changes) {
  const std::uint64_t most = settings_.limits.row_bytes_max;
  // Without checking the rows: a transaction adds at most kLongWriteBytesMax.
  const std::uint64_t fresh = std::min<std::uint64_t>(kLongWriteBytesMax, most / 2);
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
                    settings_.mount.min_data_ttl.count(), settings_.mount.min_data_versions));
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
      now + std::max<Duration>(kLargeRowPauseMin, mount.min_data_ttl / kLargeRowPauseTtlShare);
  const bool in_active = stores_->active().store->largest_row_bytes() >= row.in_memory / 2;
  if (mount.enable_store_flush && row.in_memory >= row.in_chunks && in_active) {
    stores_->rotate(now);
  }
  maintenance_->compact_soon(row.chunks);
}

void TableTablet::Impl::drop_locks(TabletWrite& write) const {
  const bool reads = has_bug(SeededBug::kLockGroupIgnored);
  const bool groups = has_bug(SeededBug::kGroupLocksNotTaken);
  if (!reads && !groups) return;
  for (RowChange& change : write.changes) {
    for (std::size_t i = 0; i < change.locks.modes.size(); ++i) {
      LockMode& mode = change.locks.modes[i];
      if (reads && mode < LockMode::kSharedWrite) mode = LockMode::kNone;
      if (groups && i > 0) mode = LockMode::kNone;
    }
  }
}

Result<void> TableTablet::Impl::acquire(const TransactionId& id, Timestamp start,
                                        std::span<const RowChange> changes) {
  if (settings_.atomicity == Atomicity::kNone || ordered()) return {};
  auto taken = state_.locks().acquire(id, start, changes);
  if (taken) return {};
  return std::unexpected(std::move(taken).error().within(settings_.table_path));
}

PromisedRows TableTablet::Impl::promise(OpenMemoryStore& open, std::span<const RowChange> changes,
                                        PreparedMark mark) const {
  PromisedRows promised{open.number, open.store, mark, {}};
  promised.write = announce(*deleted_range_, changes);
  promised.rows.reserve(changes.size());
  ++open.unconfirmed;
  // Each row is elsewhere in memory.
  absl::InlinedVector<std::uint64_t, 4> hashes;
  for (const RowChange& change : changes) {
    hashes.push_back(key_hash(as_bytes(change.key)));
    if (changes.size() > 1) open.store->prefetch(hashes.back());
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].kind == ChangeKind::kLock) {
      promised.rows.push_back(nullptr);
      continue;
    }
    MemoryStore::Row& row = open.store->touch(as_bytes(changes[i].key), hashes[i]);
    if (mark.since != 0) open.store->prepare(row, mark);
    if (mark.two_phase) ++open.prepared;
    promised.rows.push_back(&row);
  }
  return promised;
}

PromisedRows TableTablet::Impl::promise(std::span<const RowChange> changes, Timestamp start,
                                        bool two_phase) {
  rotate_if_due();
  PreparedMark mark{std::max(start, kMinTimestamp), two_phase};
  if (has_bug(SeededBug::kReadersDoNotWait)) mark = {};
  return promise(stores_->active(), changes, mark);
}

// Marks are removed after the versions were added: readers read them in the opposite order.
void TableTablet::Impl::release(PromisedRows& promised) {
  std::size_t marked = 0;
  for (MemoryStore::Row* row : promised.rows) {
    if (row == nullptr) continue;
    if (promised.mark.since != 0) promised.memory->resolve(*row, promised.mark);
    if (promised.mark.two_phase) ++marked;
  }
  if (promised.write != 0) deleted_range_->end_write(promised.write);
  if (OpenMemoryStore* open = stores_->memory(promised.store)) {
    open->prepared -= marked;
    if (--open->unconfirmed == 0 && open != &stores_->active()) maintenance_->wake();
  }
}

void TableTablet::Impl::apply(PromisedRows& promised, const TransactionId& id,
                              std::span<const RowChange> changes, Timestamp commit) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (promised.rows[i] == nullptr) continue;
    promised.memory->add(*promised.rows[i], commit, changes[i].kind, as_bytes(changes[i].image));
  }
  release(promised);
  const bool locks = settings_.atomicity == Atomicity::kFull && !ordered();
  if (locks) state_.locks().release(id, changes, commit);
  state_.note_commit(commit);
  ++commits_;
  rotate_if_due();
  memory_->count();
  wake_readers(changes);
}

void TableTablet::Impl::roll_back(PromisedRows& promised, const TransactionId& id,
                                  std::span<const RowChange> changes) {
  release(promised);
  if (settings_.atomicity == Atomicity::kFull && !ordered()) {
    state_.locks().release(id, changes, std::nullopt);
  }
  wake_readers(changes);
}

void TableTablet::Impl::rotate_if_due() {
  if (!settings_.mount.enable_store_flush) return;
  const MemoryStore& active = *stores_->active().store;
  const bool full = active.bytes() >= store_bytes_max(settings_.mount, settings_.limits) ||
                    active.rows() >= settings_.mount.max_dynamic_store_row_count;
  if (!full || active.rows() == 0) return;
  stores_->rotate(executor().now());
  maintenance_->wake();
}

// The leader calls for the body when it begins to write the entry: a commit that fails before is
// not in the log, one that fails later may be.
Task<Result<void>> TableTablet::Impl::log(Slice body, Leader::Confirmed confirmed) {
  // Rejected before it is written: an entry that cannot be written ends the incarnation.
  if (body.size() > kBodyBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("{}: tablet {}: a record of {} bytes, more than {}",
                               settings_.table_path, info_.id.value, body.size(), kBodyBytesMax));
  }
  bool sent = false;
  CommitRequest request;
  request.body_bytes_hint = body.size();
  request.body = [&body, &sent](const std::vector<BlobId>&) {
    sent = true;
    return body;
  };
  Result<void> written = co_await leader_->commit(std::move(request), std::move(confirmed));
  if (!written && sent) written.error() = {Errc::kUnknownOutcome, written.error().message()};
  co_return written;
}

Task<void> TableTablet::Impl::log_unawaited(Slice body) {
  const auto written = co_await log(std::move(body), [](const std::vector<BlobId>&) {});
  (void)written;
}

Task<Result<Timestamp>> TableTablet::Impl::commit(TabletWrite write) {
  if (ordered()) co_return co_await append(std::move(write));
  CO_TRY_VOID(may_write());
  CO_TRY_VOID(check_schema(write));
  CO_TRY_VOID(check_write(write));
  CO_TRY_VOID(check_row_sizes(write.changes));
  if (leader_->colour() >= kColourToStop) {
    CO_TRY_VOID(co_await check_space(write.changes));
    CO_TRY_VOID(may_write());
  }
  drop_locks(write);
  if (auto taken = acquire(write.transaction, write.start, write.changes); !taken) {
    CO_TRY_VOID(co_await acquire_later(write, std::move(taken).error()));
  }
  PromisedRows promised = promise(write.changes, write.start, false);
  co_return co_await commit_promised(promised, write, nullptr);
}

// From the promise to the versions in memory. `append`: of an ordered table; its turn ends when the
// entry is in the queue of the log.
Task<Result<Timestamp>> TableTablet::Impl::commit_promised(PromisedRows& promised,
                                                           TabletWrite& write, Append* append) {
  const RowEnd before = end_;
  ++in_flight_;
  const auto parts = co_await log_parts(promised.store, write.transaction, write.changes);
  if (!parts) {
    write_ended();
    if (!leader_->ended()) roll_back(promised, write.transaction, write.changes);
    co_return std::unexpected(parts.error());
  }
  const auto drawn = co_await resources_.timestamps.next();
  if (!drawn || leader_->ended()) {
    write_ended();
    state_.parts_ended(write.transaction);
    roll_back(promised, write.transaction, write.changes);
    if (!drawn) co_return std::unexpected(no_timestamp(drawn.error()));
    co_return std::unexpected(*leader_->ended());
  }
  const Timestamp commit = *drawn;
  if (append != nullptr) filled_->stamp(write.changes, commit);
  Slice body = rows_record(promised.store, commit, write, *parts);
  if (append != nullptr) {
    end_ = append->end;
    append->turn.release();
  } else if (has_bug(SeededBug::kAckBeforeDurable)) {
    write_ended();
    apply(promised, write.transaction, write.changes, commit);
    scope_.spawn(log_unawaited(std::move(body)));
    co_return commit;
  }
  const auto written =
      co_await log(std::move(body), [this, &promised, &write, commit](const std::vector<BlobId>&) {
        state_.parts_ended(write.transaction);
        state_.logged(promised.store, leader_->position(), write.changes);
        apply(promised, write.transaction, write.changes, commit);
      });
  write_ended();
  if (written) co_return commit;
  // After the end of the incarnation the outcome is unknown: marks and locks are kept.
  if (!leader_->ended()) {
    if (append != nullptr) {
      // It did not come into the queue, and no other has appended since.
      INVARIANT(end_ == append->end, "rows follow those of a write that failed: {}",
                written.error().message());
      end_ = before;
    }
    state_.parts_ended(write.transaction);
    roll_back(promised, write.transaction, write.changes);
  }
  co_return std::unexpected(written.error());
}

bool TableTablet::Impl::undecided(const std::string& key, Timestamp timestamp) {
  if (concerns(stores_->append(), timestamp)) return true;
  const std::uint64_t hash = key_hash(as_bytes(key));
  for (const OpenMemoryStore& open : stores_->memory_stores()) {
    const MemoryStore::Row* row = open.store->find(as_bytes(key), hash);
    if (row != nullptr && concerns(MemoryStore::prepared(*row), timestamp)) return true;
  }
  return false;
}

Task<Result<void>> TableTablet::Impl::wait_decided(std::string key, Timestamp timestamp,
                                                   Instant deadline) {
  while (undecided(key, timestamp)) {
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    if (executor().now() >= deadline) {
      co_return fail(Errc::kTimeout, "a row is still undecided: its transaction has not ended");
    }
    if (waiting_readers_ >= kWaitersMax) {
      co_return fail(Errc::kOverloaded, "too many readers wait for rows");
    }
    std::shared_ptr<Event>& of_key = waiting_[key];
    if (!of_key) of_key = std::make_shared<Event>(executor());
    const std::shared_ptr<Event> decided = of_key;
    ++waiting_readers_;
    const bool woken = co_await decided->wait_until(deadline);
    --waiting_readers_;
    // wake_readers() removes the key of those that it wakes.
    if (!woken && !decided->waited_for()) waiting_.erase(key);
  }
  co_return Result<void>();
}

void TableTablet::Impl::wake_readers(std::span<const RowChange> changes) {
  if (waiting_.empty()) return;
  for (const RowChange& change : changes) {
    if (const auto found = waiting_.extract(change.key)) found.mapped()->notify_all();
  }
}

void TableTablet::Impl::wake_all_readers() {
  auto all = std::exchange(waiting_, {});
  for (auto& [key, decided] : all) decided->notify_all();
}

}  // namespace moraine::table
