// Lock checks after all faults have ended, when it is certain which transactions must conflict.

#include <fmt/format.h>

#include "sim/tables/table_clients.h"

namespace moraine::sim {
namespace {

constexpr int kRewrites = 4;
constexpr std::string_view kConflict = "row lock conflict";

PlannedChange put_of(const RowName& row, Halves half) {
  return {row, half == kLeftHalf ? PlannedKind::kLeft : PlannedKind::kRight};
}

PlannedChange lock_of(const RowName& row, Halves half, bool weak) {
  PlannedChange lock{row, PlannedKind::kReadLock};
  lock.locked = half;
  lock.weak = weak;
  return lock;
}

}  // namespace

// Both begin before the first is committed.
Task<std::optional<bool>> TableClients::both_commit(PlannedChange first, PlannedChange second) {
  ModelTransaction one;
  one.changes = {first};
  ModelTransaction two;
  two.changes = {second};
  for (ModelTransaction* transaction : {&one, &two}) {
    const auto start = co_await draw();
    if (!start) co_return std::nullopt;
    transaction->number = model_.next_number();
    transaction->start = *start;
  }
  const Ending ended_one = co_await commit(std::move(one), TableCommand::kHalves);
  const Ending ended_two = co_await commit(std::move(two), TableCommand::kHalves);
  if (ended_one.fate != Fate::kCommitted) co_return std::nullopt;
  if (ended_two.fate == Fate::kCommitted) co_return true;
  if (ended_two.why.find(kConflict) == std::string::npos) co_return std::nullopt;
  co_return false;
}

Task<bool> TableClients::expect_both(PlannedChange first, PlannedChange second, bool both) {
  const auto committed = co_await both_commit(first, second);
  if (!committed) co_return false;
  if (*committed != both) {
    history_.fail(fmt::format(
        "{}: two transactions that overlap, kinds {} and {}, locks {}{} and "
        "{}: {}",
        to_string(first.row), static_cast<int>(first.kind), static_cast<int>(second.kind),
        first.locked, first.weak ? " weak" : "", second.locked,
        both ? "they must not conflict, but they do" : "both were committed"));
  }
  co_return true;
}

// A client's write must not conflict with its own acknowledged commit.
Task<bool> TableClients::rewrite() {
  const Rows registers = layout_.rows(RowSort::kRegister);
  bool committed = false;  // Whether the one before was.
  for (int i = 0; i < kRewrites; ++i) {
    const auto start = co_await draw();
    if (!start) co_return false;
    ModelTransaction transaction;
    transaction.number = model_.next_number();
    transaction.start = *start;
    for (const RowName& row : {registers.front(), registers.back()}) {
      transaction.changes.push_back({row, PlannedKind::kPut, i, 0});
    }
    const Ending ended = co_await commit(std::move(transaction), TableCommand::kRegister);
    if (committed && ended.why.find(kConflict) != std::string::npos) {
      history_.fail("a client conflicts with its own acknowledged commit: " + ended.why);
    }
    if (ended.fate == Fate::kUnknown) co_return false;
    committed = ended.fate == Fate::kCommitted;
  }
  co_return true;
}

Task<bool> TableClients::check_locks() {
  const RowName row = pick(RowSort::kHalves, 1, random_).front();
  const Halves half = random_.one_in(2) ? kLeftHalf : kRightHalf;
  const Halves other = half == kLeftHalf ? kRightHalf : kLeftHalf;
  const PlannedChange put = put_of(row, half);
  bool answered = co_await expect_both(put, put_of(row, other), true);
  answered = co_await expect_both(put, put, false) && answered;
  answered = co_await expect_both(lock_of(row, half, false), put, false) && answered;
  answered = co_await expect_both(lock_of(row, other, false), put, true) && answered;
  answered = co_await expect_both(lock_of(row, half, true), put, true) && answered;
  answered = co_await expect_both(put, lock_of(row, half, true), false) && answered;
  answered = co_await expect_both(put, {row, PlannedKind::kReadLock}, false) && answered;
  co_return co_await rewrite() && answered;
}

}  // namespace moraine::sim
