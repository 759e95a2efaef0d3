#include "sim/tables/table_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace moraine::sim {
namespace {

constexpr Duration kOpenPause = 300ms;
constexpr Duration kResolvePause = 400ms;
constexpr Duration kDawdleMax = 1500ms;
constexpr std::int64_t kOpeningBalance = 100;
constexpr std::size_t kTextBytesMax = 300;

}  // namespace

TableClients::TableClients(SimWorld& world, const TableOptions& options, TableAccess& access,
                           TableModel& model, History& history)
    : world_(world),
      access_(access),
      model_(model),
      history_(history),
      options_(options),
      layout_(options_.layout),
      random_(world.stream("lock checks")) {}

void TableClients::start() {
  scope_.spawn(open_accounts());
  if (options_.versions_stay) resolving_.spawn(resolve_unknowns());
  for (std::size_t i = 0; i < options_.workers; ++i) {
    scope_.spawn(work(world_.stream("table worker", i)));
  }
}

Task<void> TableClients::think(SeededRandom& random) {
  const auto most = static_cast<std::uint64_t>(options_.think_max.count());
  co_await sleep_for(world_.executor(), Duration(1 + random.below(most)));
}

// Makes some transactions slow: others are committed and flushed meanwhile.
Task<void> TableClients::pause_randomly(SeededRandom& random) {
  if (!random.one_in(4)) co_return;
  const auto most = static_cast<std::uint64_t>(kDawdleMax.count());
  co_await sleep_for(world_.executor(), Duration(1 + random.below(most)));
}

// One transaction gives every account its first balance.
Task<void> TableClients::open_accounts() {
  while (!scope_.closed() && !history_.failed()) {
    co_await sleep_for(world_.executor(), kOpenPause);
    const auto start = co_await draw();
    if (!start) continue;
    const auto seen = co_await read(layout_.rows(RowSort::kAccount), *start, TableCommand::kAudit);
    if (!seen) continue;
    if (std::ranges::all_of(*seen, [](const auto& one) { return one.second.exists; })) {
      opened_ = *start;
      check_total(*seen, *start);
      co_return;
    }
    ModelTransaction transaction;
    transaction.number = model_.next_number();
    transaction.start = *start;
    for (const RowName& row : layout_.rows(RowSort::kAccount)) {
      transaction.changes.push_back({row, PlannedKind::kPut, kOpeningBalance, 0});
    }
    (void)co_await commit(std::move(transaction), TableCommand::kTransferMany);
  }
}

void TableClients::check_total(const Seen& seen, Timestamp at) {
  std::int64_t total = 0;
  for (const auto& [row, found] : seen) total += found.value.value_or(0);
  const auto expected = static_cast<std::int64_t>(seen.size()) * kOpeningBalance;
  if (total == expected) return;
  std::string text;
  for (const auto& [row, found] : seen) {
    text += fmt::format("; {}: {}", to_string(row), to_string(found));
  }
  history_.fail(fmt::format("all accounts together have {} instead of {} at {}{}", total, expected,
                            at, text));
}

TableClients::Rows TableClients::pick(RowSort sort, std::size_t count, SeededRandom& random) const {
  Rows all = layout_.rows(sort);
  // Sometimes neighbours: they are in one tablet.
  const std::size_t window =
      random.one_in(2) ? std::min<std::size_t>(all.size(), count + 1) : all.size();
  const std::size_t from = random.below(all.size() - window + 1);
  Rows some(all.begin() + static_cast<std::ptrdiff_t>(from),
            all.begin() + static_cast<std::ptrdiff_t>(from + window));
  while (some.size() > count) {
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(random.below(some.size())));
  }
  return some;
}

Timestamp TableClients::some_past(SeededRandom& random) const {
  if (past_.empty()) return kSyncLastCommitted;
  return past_[random.below(past_.size())];
}

Task<void> TableClients::transfer(SeededRandom& random) {
  if (opened_ == 0) co_return;
  const auto start = co_await draw();
  if (!start) co_return;
  const Rows rows = pick(RowSort::kAccount, 2 + random.below(2), random);
  const auto seen = co_await read(rows, *start, TableCommand::kRead);
  if (!seen || *start < opened_) co_return;
  ModelTransaction transaction;
  transaction.number = model_.next_number();
  transaction.start = *start;
  transaction.reads = *seen;
  std::int64_t left = 0;
  for (std::size_t i = 0; i < seen->size(); ++i) {
    const auto& [row, found] = (*seen)[i];
    const bool last = i + 1 == seen->size();
    const std::int64_t moved = last ? left : -static_cast<std::int64_t>(random.below(20));
    if (!last) left -= moved;
    transaction.changes.push_back(
        {row, PlannedKind::kPut, found.value.value_or(0) + moved, random.below(kTextBytesMax)});
  }
  co_await pause_randomly(random);
  const bool one = in_one_place(transaction.changes);
  (void)co_await commit(std::move(transaction),
                        one ? TableCommand::kTransferOne : TableCommand::kTransferMany);
}

Task<void> TableClients::change_registers(SeededRandom& random) {
  const auto start = co_await draw();
  if (!start) co_return;
  const Rows rows = pick(RowSort::kRegister, 1 + random.below(4), random);
  const auto seen = co_await read(rows, *start, TableCommand::kRead);
  if (!seen) co_return;
  ModelTransaction transaction;
  transaction.number = model_.next_number();
  transaction.start = *start;
  transaction.reads = *seen;
  transaction.locks_reads = random.one_in(2);
  const std::size_t put = random.below(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The row that is only read is last in a pair, so that such transactions overlap.
    if (i == put) {
      transaction.changes.push_back({rows[i], PlannedKind::kPut,
                                     static_cast<std::int64_t>(transaction.number),
                                     random.below(kTextBytesMax), access_.has_extra(rows[i])});
    } else if (random.one_in(4)) {
      transaction.changes.push_back({rows[i], PlannedKind::kDelete, 0, 0});
    } else if (transaction.locks_reads) {
      transaction.changes.push_back({rows[i], PlannedKind::kReadLock, 0, 0});
    }
  }
  co_await pause_randomly(random);
  const TableCommand command =
      transaction.locks_reads ? TableCommand::kLockedRegister : TableCommand::kRegister;
  (void)co_await commit(std::move(transaction), command);
}

Task<void> TableClients::add_deltas(SeededRandom& random) {
  const auto start = co_await draw();
  if (!start) co_return;
  ModelTransaction transaction;
  transaction.number = model_.next_number();
  transaction.start = *start;
  const bool shared = random.one_in(2);
  for (const RowName& row : pick(RowSort::kSum, 1 + random.below(3), random)) {
    const PlannedKind kind = shared ? PlannedKind::kSharedDelta : PlannedKind::kDelta;
    transaction.changes.push_back({row, kind, 0, 0});
  }
  if (random.one_in(10)) {
    // A delete is sent with a put, by which its transaction is identified.
    transaction.changes.front().kind = PlannedKind::kDelete;
    transaction.changes.push_back(
        {pick(RowSort::kRegister, 1, random).front(), PlannedKind::kPut, 0, 0});
  }
  (void)co_await commit(std::move(transaction), TableCommand::kDelta);
}

// Halves have their own locks: writers of different ones do not conflict.
Task<void> TableClients::change_halves(SeededRandom& random) {
  const auto start = co_await draw();
  if (!start) co_return;
  const Rows rows = pick(RowSort::kHalves, 1 + random.below(2), random);
  const auto seen = co_await read(rows, *start, TableCommand::kRead);
  if (!seen) co_return;
  ModelTransaction transaction;
  transaction.number = model_.next_number();
  transaction.start = *start;
  transaction.reads = *seen;
  for (const RowName& row : rows) {
    PlannedChange change{row};
    const bool left = random.one_in(2);
    change.kind = left ? PlannedKind::kLeft : PlannedKind::kRight;
    if (random.one_in(3)) change.locked = left ? kRightHalf : kLeftHalf;
    change.weak = random.one_in(2);
    transaction.changes.push_back(change);
  }
  if (random.one_in(10)) {
    transaction.changes.front() = {rows.front(), PlannedKind::kDelete};
    transaction.changes.push_back({pick(RowSort::kRegister, 1, random).front()});
  }
  co_await pause_randomly(random);
  (void)co_await commit(std::move(transaction), TableCommand::kHalves);
}

Task<void> TableClients::read_some(SeededRandom& random) {
  const auto sort = static_cast<RowSort>(random.below(kRowSorts));
  const Rows rows = pick(sort, 1 + random.below(5), random);
  switch (random.below(3)) {
    case 0: {
      const auto at = co_await draw();
      if (at) (void)co_await read(rows, *at, TableCommand::kRead);
      co_return;
    }
    case 1: (void)co_await read(rows, some_past(random), TableCommand::kOldRead); co_return;
    default:
      (void)co_await read(rows, random.one_in(4) ? kAsyncLastCommitted : kSyncLastCommitted,
                          TableCommand::kLastCommitted);
  }
}

Task<void> TableClients::audit(SeededRandom& random) {
  if (opened_ == 0) co_return;
  Timestamp at = some_past(random);
  if (random.one_in(2)) {
    const auto drawn = co_await draw();
    if (!drawn) co_return;
    at = *drawn;
  }
  if (at < opened_ || at > kMaxTimestamp) co_return;
  const auto seen = co_await read(layout_.rows(RowSort::kAccount), at, TableCommand::kAudit);
  if (seen) check_total(*seen, at);
}

Task<void> TableClients::work(SeededRandom random) {
  while (!scope_.closed() && !history_.failed()) {
    co_await think(random);
    if (scope_.closed()) break;
    const std::uint64_t dice = random.below(100);
    if (dice < 25) {
      co_await transfer(random);
    } else if (dice < 47) {
      co_await change_registers(random);
    } else if (dice < 60) {
      co_await add_deltas(random);
    } else if (dice < 72) {
      co_await change_halves(random);
    } else if (dice < 85) {
      co_await read_some(random);
    } else {
      co_await audit(random);
    }
  }
}

Task<void> TableClients::resolve_unknowns() {
  while (!resolving_.closed() && !history_.failed()) {
    co_await sleep_for(world_.executor(), kResolvePause);
    for (const auto& [number, row] : model_.wanted()) {
      const auto versions = co_await look(row);
      if (versions) model_.looked(number, row, *versions);
    }
  }
}

Task<bool> TableClients::read_everything() {
  Rows all;
  for (std::size_t sort = 0; sort < kRowSorts; ++sort) {
    for (const RowName& row : layout_.rows(static_cast<RowSort>(sort))) all.push_back(row);
  }
  const auto at = co_await draw();
  if (!at) co_return false;
  const auto seen = co_await read(all, *at, TableCommand::kRead);
  const auto last = co_await read(all, kSyncLastCommitted, TableCommand::kLastCommitted);
  if (!seen || !last) co_return false;
  if (opened_ != 0) {
    const auto accounts = co_await read(layout_.rows(RowSort::kAccount), *at, TableCommand::kAudit);
    if (accounts) check_total(*accounts, *at);
  }
  co_return true;
}

Task<bool> TableClients::show_versions() {
  for (std::size_t sort = 0; sort < kRowSorts; ++sort) {
    for (const RowName& row : layout_.rows(static_cast<RowSort>(sort))) {
      const auto versions = co_await look(row);
      if (!versions) co_return false;
      model_.found(row, *versions);
    }
  }
  co_return true;
}

}  // namespace moraine::sim
