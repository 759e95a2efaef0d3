#include "transaction/local_tablets.h"

namespace moraine {
namespace {

std::unexpected<Error> not_here(TabletId id) {
  return fail(Errc::kNotHere, fmt::format("tablet {} is not running here", id.value));
}

}  // namespace

std::shared_ptr<table::TableTablet> LocalTablets::find(TabletId id) const {
  const auto found = tablets_.find(id);
  return found == tablets_.end() ? nullptr : found->second;
}

Task<Result<Timestamp>> LocalTablets::commit(TabletId tablet, TabletWrite write, Instant) {
  const auto running = find(tablet);
  if (!running) co_return not_here(tablet);
  co_return co_await running->commit(std::move(write));
}

Task<Result<void>> LocalTablets::prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                                         Instant) {
  const auto running = find(tablet);
  if (!running) co_return not_here(tablet);
  co_return co_await running->prepare(std::move(write), coordinator);
}

std::unexpected<Error> LocalTablets::absent(TabletId tablet) const {
  if (!is_deleted_ || !is_deleted_(tablet)) return not_here(tablet);
  return fail(Errc::kNotFound, fmt::format("tablet {} was deleted", tablet.value));
}

Task<Result<void>> LocalTablets::commit_prepared(TabletId tablet, TransactionId id,
                                                 Timestamp commit, Instant) {
  const auto running = find(tablet);
  if (!running) co_return absent(tablet);
  co_return co_await running->commit_prepared(id, commit);
}

Task<Result<void>> LocalTablets::abort_prepared(TabletId tablet, TransactionId id, Instant) {
  const auto running = find(tablet);
  if (!running) co_return absent(tablet);
  co_return co_await running->abort_prepared(id);
}

}  // namespace moraine
