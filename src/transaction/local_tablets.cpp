#include "transaction/local_tablets.h"

#include <fmt/format.h>

#include "io/run_on.h"
#include "transaction/read_tablet.h"

namespace moraine {
namespace {

Error not_here(TabletId id) {
  return {Errc::kNotHere, fmt::format("tablet {} is not running here", id.value)};
}

}  // namespace

void LocalTablets::add(TabletId id, std::shared_ptr<table::TableTablet> tablet, Executor& home) {
  {
    const std::lock_guard lock(mutex_);
    tablets_.insert_or_assign(id, Found{tablet, &home});
  }
  if (added_) added_(id, tablet);
}

void LocalTablets::remove(TabletId id) {
  Found removed;  // Destroyed without the lock.
  {
    const std::lock_guard lock(mutex_);
    const auto found = tablets_.find(id);
    if (found == tablets_.end()) return;
    removed = std::move(found->second);
    tablets_.erase(found);
  }
  if (removed_) removed_(id, removed.tablet);
}

LocalTablets::Found LocalTablets::find(TabletId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = tablets_.find(id);
  return found == tablets_.end() ? Found() : found->second;
}

Task<Result<Timestamp>> LocalTablets::commit(TabletId tablet, TabletWrite write, Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet && other_calls_) {
    co_return co_await other_calls_->commit(tablet, std::move(write), deadline);
  }
  if (!found.tablet) co_return std::unexpected(not_here(tablet));
  co_return co_await run_there(*found.home, [&] { return found.tablet->commit(std::move(write)); });
}

Task<Result<void>> LocalTablets::prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                                         Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet && other_calls_) {
    co_return co_await other_calls_->prepare(tablet, std::move(write), coordinator, deadline);
  }
  if (!found.tablet) co_return std::unexpected(not_here(tablet));
  co_return co_await run_there(
      *found.home, [&] { return found.tablet->prepare(std::move(write), coordinator); });
}

Task<Error> LocalTablets::absent(TabletId tablet) const {
  co_return co_await run_there(control_, [&]() -> Task<Error> {
    if (!is_deleted_ || !is_deleted_(tablet)) co_return not_here(tablet);
    co_return Error{Errc::kNotFound, fmt::format("tablet {} was deleted", tablet.value)};
  });
}

Task<Result<void>> LocalTablets::commit_prepared(TabletId tablet, TransactionId id,
                                                 Timestamp commit, Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet) {
    Error error = co_await absent(tablet);
    if (error.code != Errc::kNotHere || !other_calls_) co_return std::unexpected(std::move(error));
    co_return co_await other_calls_->commit_prepared(tablet, id, commit, deadline);
  }
  co_return co_await run_there(*found.home,
                               [&] { return found.tablet->commit_prepared(id, commit); });
}

Task<Result<void>> LocalTablets::abort_prepared(TabletId tablet, TransactionId id,
                                                Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet) {
    Error error = co_await absent(tablet);
    if (error.code != Errc::kNotHere || !other_calls_) co_return std::unexpected(std::move(error));
    co_return co_await other_calls_->abort_prepared(tablet, id, deadline);
  }
  co_return co_await run_there(*found.home, [&] { return found.tablet->abort_prepared(id); });
}

Task<Result<void>> LocalTablets::lookup(TabletId tablet, SchemaPtr schema,
                                        table::LookupRequest request, Rowset& rows,
                                        Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet && other_reads_) {
    co_return co_await other_reads_->lookup(tablet, std::move(schema), request, rows, deadline);
  }
  if (!found.tablet) co_return std::unexpected(not_here(tablet));
  co_return co_await run_there(
      *found.home, [&] { return read_rows(*found.tablet, schema, request, rows, deadline); });
}

Task<Result<table::OwnedVersionedRow>> LocalTablets::lookup_versions(
    TabletId tablet, SchemaPtr schema, std::string key, Timestamp timestamp, Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet && other_reads_) {
    co_return co_await other_reads_->lookup_versions(tablet, std::move(schema), std::move(key),
                                                     timestamp, deadline);
  }
  if (!found.tablet) co_return std::unexpected(not_here(tablet));
  co_return co_await run_there(*found.home, [&] {
    return read_versions(*found.tablet, schema, std::move(key), timestamp, deadline);
  });
}

Task<Result<ScanPage>> LocalTablets::scan(TabletId tablet, SchemaPtr schema,
                                          table::ScanRequest request, Instant deadline) {
  const Found found = find(tablet);
  if (!found.tablet && other_reads_) {
    co_return co_await other_reads_->scan(tablet, std::move(schema), std::move(request), deadline);
  }
  if (!found.tablet) co_return std::unexpected(not_here(tablet));
  co_return co_await run_there(
      *found.home, [&] { return read_page(*found.tablet, schema, std::move(request), deadline); });
}

}  // namespace moraine
