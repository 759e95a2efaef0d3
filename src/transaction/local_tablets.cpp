#include "transaction/local_tablets.h"

#include <fmt/format.h>

#include "io/run_on.h"

namespace moraine {
namespace {

Error not_running(TabletId id) {
  return {Errc::kReadOnly, fmt::format("tablet {} is not running", id.value)};
}

}  // namespace

LocalTablets::LocalTablets(Executor& control)
    : directory_(std::make_shared<Directory>(control)), lane_(control) {}

void LocalTablets::add(TabletId id, std::shared_ptr<table::TableTablet> tablet, Executor& home) {
  const std::lock_guard lock(directory_->mutex);
  directory_->tablets.insert_or_assign(id, Found{std::move(tablet), &home});
}

void LocalTablets::remove(TabletId id) {
  Found removed;  // Destroyed without the lock.
  const std::lock_guard lock(directory_->mutex);
  const auto found = directory_->tablets.find(id);
  if (found == directory_->tablets.end()) return;
  removed = std::move(found->second);
  directory_->tablets.erase(found);
}

LocalTablets::Found LocalTablets::find(TabletId id) const {
  const std::lock_guard lock(directory_->mutex);
  const auto found = directory_->tablets.find(id);
  return found == directory_->tablets.end() ? Found() : found->second;
}

Task<Result<Timestamp>> LocalTablets::commit(TabletId tablet, TabletWrite write, Instant) {
  const Found found = find(tablet);
  if (!found.tablet) co_return std::unexpected(not_running(tablet));
  co_return co_await run_on(*found.home, lane_,
                            [&] { return found.tablet->commit(std::move(write)); });
}

Task<Result<void>> LocalTablets::prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                                         Instant) {
  const Found found = find(tablet);
  if (!found.tablet) co_return std::unexpected(not_running(tablet));
  co_return co_await run_on(*found.home, lane_,
                            [&] { return found.tablet->prepare(std::move(write), coordinator); });
}

Task<Error> LocalTablets::absent(TabletId tablet) const {
  co_await hop(directory_->control);
  const bool deleted = directory_->is_deleted && directory_->is_deleted(tablet);
  co_await hop(lane_);
  if (!deleted) co_return not_running(tablet);
  co_return Error{Errc::kNotFound, fmt::format("tablet {} was deleted", tablet.value)};
}

Task<Result<void>> LocalTablets::commit_prepared(TabletId tablet, TransactionId id,
                                                 Timestamp commit, Instant) {
  const Found found = find(tablet);
  if (!found.tablet) co_return std::unexpected(co_await absent(tablet));
  co_return co_await run_on(*found.home, lane_,
                            [&] { return found.tablet->commit_prepared(id, commit); });
}

Task<Result<void>> LocalTablets::abort_prepared(TabletId tablet, TransactionId id, Instant) {
  const Found found = find(tablet);
  if (!found.tablet) co_return std::unexpected(co_await absent(tablet));
  co_return co_await run_on(*found.home, lane_, [&] { return found.tablet->abort_prepared(id); });
}

}  // namespace moraine
