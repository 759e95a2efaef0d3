#include "table/tablet/lock_table.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include "base/invariant.h"

namespace moraine::table {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// One lock of one row: who holds it now, and when it was last taken for good.
struct Lock {
  Timestamp exclusive_commit = 0;
  Timestamp shared_write_commit = 0;
  Timestamp strong_read_commit = 0;
  TransactionId exclusive_owner;  // Holds it now, or committed last.
  std::uint32_t readers = 0;
  std::uint32_t shared_writers = 0;
  bool exclusive = false;

  bool held() const { return exclusive || readers > 0 || shared_writers > 0; }
  Timestamp newest() const {
    return std::max({exclusive_commit, shared_write_commit, strong_read_commit});
  }
};

bool is_read(LockMode mode) {
  return mode == LockMode::kSharedWeak || mode == LockMode::kSharedStrong;
}

// Calls back with the index and the mode of every lock that the set names.
template <class F>
void for_each_lock(const LockSet& set, F call) {
  static_assert(sizeof(set.modes) == kLocksMax);
  const auto visit = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (set.modes[i] != LockMode::kNone) call(i, set.modes[i]);
    }
  };
  // Most sets name one lock: words of eight are passed at a glance.
  std::size_t at = 0;
  for (; at + 8 <= kLocksMax; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, set.modes.data() + at, sizeof(word));
    if (word != 0) visit(at, at + 8);
  }
  visit(at, kLocksMax);
}

bool empty(const LockSet& set) {
  return set == LockSet{};
}

struct Row {
  std::string key;
  Lock primary;
  std::vector<std::pair<std::uint8_t, Lock>> groups;  // Those that were ever taken.
  std::uint32_t holders = 0;                          // Locks of the row that are held now.
  // Neighbours by age, of rows that nobody holds.
  std::uint32_t older = kNobody;
  std::uint32_t newer = kNobody;
  bool aged = false;

  Lock& lock(std::size_t index) {
    if (index == 0) return primary;
    for (auto& [group, lock] : groups) {
      if (group == index) return lock;
    }
    return groups.emplace_back(static_cast<std::uint8_t>(index), Lock()).second;
  }
  Timestamp newest() const {
    Timestamp newest = primary.newest();
    for (const auto& [group, lock] : groups) newest = std::max(newest, lock.newest());
    return newest;
  }
};

std::string describe(std::size_t lock) {
  return lock == 0 ? std::string("the primary lock") : fmt::format("lock {}", lock);
}

std::string printable(std::string_view key) {
  std::string text;
  for (const char c : key.substr(0, 64))
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return key.size() > 64 ? text + "..." : text;
}

std::string committed_at(std::string_view what, Timestamp commit) {
  return fmt::format("{} was committed at {}", what, commit);
}

// Was it taken for good since the start, in a way that `mode` does not go with?
bool taken_since(const Lock& lock, LockMode mode, Timestamp start) {
  if (lock.exclusive_commit > start) return true;
  if (mode != LockMode::kSharedWrite && lock.shared_write_commit > start) return true;
  return !is_read(mode) && lock.strong_read_commit > start;
}

// Is it held now in a way that `mode` does not go with?
bool held_against(const Lock& lock, LockMode mode) {
  if (lock.exclusive) return true;
  if (mode != LockMode::kSharedWrite && lock.shared_writers > 0) return true;
  return !is_read(mode) && lock.readers > 0;
}

// Why `mode` cannot be had; empty: it can.
std::string objection(const Lock& lock, LockMode mode, Timestamp start) {
  if (lock.exclusive_commit > start) {
    const bool known = !lock.exclusive && lock.exclusive_owner != TransactionId{};
    return committed_at(
        known ? fmt::format("a write of transaction {}", to_string(lock.exclusive_owner))
              : "a write",
        lock.exclusive_commit);
  }
  if (lock.exclusive) {
    return fmt::format("transaction {} is writing it", to_string(lock.exclusive_owner));
  }
  if (mode != LockMode::kSharedWrite && lock.shared_write_commit > start) {
    return committed_at("a shared write", lock.shared_write_commit);
  }
  if (mode != LockMode::kSharedWrite && lock.shared_writers > 0)
    return "a shared write is under way";
  if (is_read(mode)) return {};
  if (lock.readers > 0) return "a read lock is held";
  if (lock.strong_read_commit > start) {
    return committed_at("a strong read lock", lock.strong_read_commit);
  }
  return {};
}

}  // namespace

struct LockTable::State {
  Timestamp horizon = kNullTimestamp;
  std::deque<Row> rows;  // Addresses stay: the index refers to their keys.
  std::vector<std::uint32_t> free;
  absl::flat_hash_map<std::string_view, std::uint32_t> index;
  std::uint32_t oldest = kNobody;
  std::uint32_t newest = kNobody;

  std::uint32_t find_or_make(const std::string& key);
  Row* find(const std::string& key, std::uint32_t& at);
  void drop(std::uint32_t at);
  void unlink(std::uint32_t at);
  void link_newest(std::uint32_t at);
  // After a change of holders or history.
  void settle(std::uint32_t at);
  Result<void> check(Row& row, const TransactionId& id, Timestamp start, const LockSet& wanted);
  static void take(Row& row, const TransactionId& id, const LockSet& wanted);
  static void let_go(Row& row, const LockSet& held, bool committed);
  static void record(Row& row, const LockSet& taken, Timestamp commit);
  void bound();
};

std::uint32_t LockTable::State::find_or_make(const std::string& key) {
  if (const auto found = index.find(key); found != index.end()) return found->second;
  std::uint32_t at = 0;
  if (free.empty()) {
    at = static_cast<std::uint32_t>(rows.size());
    rows.emplace_back();
  } else {
    at = free.back();
    free.pop_back();
  }
  rows[at].key = key;
  index.emplace(rows[at].key, at);
  return at;
}

Row* LockTable::State::find(const std::string& key, std::uint32_t& at) {
  const auto found = index.find(key);
  if (found == index.end()) return nullptr;
  at = found->second;
  return &rows[at];
}

void LockTable::State::drop(std::uint32_t at) {
  unlink(at);
  index.erase(rows[at].key);
  rows[at] = Row();
  free.push_back(at);
}

void LockTable::State::unlink(std::uint32_t at) {
  Row& row = rows[at];
  if (!row.aged) return;
  (row.older == kNobody ? oldest : rows[row.older].newer) = row.newer;
  (row.newer == kNobody ? newest : rows[row.newer].older) = row.older;
  row.older = row.newer = kNobody;
  row.aged = false;
}

void LockTable::State::link_newest(std::uint32_t at) {
  Row& row = rows[at];
  row.older = newest;
  row.newer = kNobody;
  (newest == kNobody ? oldest : rows[newest].newer) = at;
  newest = at;
  row.aged = true;
}

void LockTable::State::settle(std::uint32_t at) {
  Row& row = rows[at];
  unlink(at);
  if (row.holders > 0) return;
  if (row.newest() <= horizon) {
    drop(at);
  } else {
    link_newest(at);
  }
}

Result<void> LockTable::State::check(Row& row, const TransactionId& id, Timestamp start,
                                     const LockSet& wanted) {
  const auto against = [&](std::size_t index_of, const Lock& lock, LockMode mode) -> Result<void> {
    const std::string why = objection(lock, mode, start);
    if (why.empty()) return {};
    return fail(Errc::kAborted,
                fmt::format("row lock conflict: row {}, {}: {}; transaction {} began at {}",
                            printable(row.key), describe(index_of), why, to_string(id), start));
  };
  Result<void> result;
  for_each_lock(wanted, [&](std::size_t i, LockMode mode) {
    if (result) result = against(0, row.primary, mode);
    for (const auto& [group, lock] : row.groups) {
      if (result && (i == 0 || group == i)) result = against(group, lock, mode);
    }
  });
  return result;
}

void LockTable::State::take(Row& row, const TransactionId& id, const LockSet& wanted) {
  for_each_lock(wanted, [&](std::size_t i, LockMode mode) {
    Lock& lock = row.lock(i);
    ++row.holders;
    if (mode == LockMode::kExclusive) {
      lock.exclusive = true;
      lock.exclusive_owner = id;
    } else if (mode == LockMode::kSharedWrite) {
      ++lock.shared_writers;
    } else {
      ++lock.readers;
    }
  });
}

void LockTable::State::let_go(Row& row, const LockSet& held, bool committed) {
  for_each_lock(held, [&](std::size_t i, LockMode mode) {
    Lock& lock = row.lock(i);
    INVARIANT(lock.held() && row.holders > 0, "lock {} of a row is let go twice", i);
    --row.holders;
    if (mode == LockMode::kExclusive) {
      lock.exclusive = false;
      if (!committed) lock.exclusive_owner = {};
    } else if (mode == LockMode::kSharedWrite) {
      --lock.shared_writers;
    } else {
      --lock.readers;
    }
  });
}

void LockTable::State::record(Row& row, const LockSet& taken, Timestamp commit) {
  const auto raise = [&](Timestamp& at) { at = std::max(at, commit); };
  for_each_lock(taken, [&](std::size_t i, LockMode mode) {
    if (mode == LockMode::kExclusive) raise(row.lock(i).exclusive_commit);
    if (mode == LockMode::kSharedWrite) raise(row.lock(i).shared_write_commit);
    if (mode == LockMode::kSharedStrong) raise(row.lock(i).strong_read_commit);
  });
}

void LockTable::State::bound() {
  while (index.size() > kRememberedRowsMax && oldest != kNobody) {
    horizon = std::max(horizon, rows[oldest].newest());
    drop(oldest);
  }
}

LockTable::LockTable(Timestamp horizon) : state_(std::make_unique<State>()) {
  state_->horizon = horizon;
}
LockTable::~LockTable() = default;

Result<void> LockTable::acquire(const TransactionId& id, Timestamp start,
                                std::span<const RowChange> changes) {
  if (start < state_->horizon) {
    return fail(Errc::kAborted,
                fmt::format("transaction {} began at {}; conflicts are known since {} only",
                            to_string(id), start, state_->horizon));
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (empty(changes[i].locks)) continue;
    const std::uint32_t at = state_->find_or_make(changes[i].key);
    Row& row = state_->rows[at];
    const auto checked = state_->check(row, id, start, changes[i].locks);
    if (!checked) {
      state_->settle(at);
      release(id, changes.first(i), std::nullopt);
      return checked;
    }
    state_->unlink(at);
    State::take(row, id, changes[i].locks);
  }
  return {};
}

void LockTable::release(const TransactionId&, std::span<const RowChange> changes,
                        std::optional<Timestamp> commit) {
  for (const RowChange& change : changes) {
    if (empty(change.locks)) continue;
    std::uint32_t at = 0;
    Row* row = state_->find(change.key, at);
    INVARIANT(row != nullptr, "a row that is locked is known");
    State::let_go(*row, change.locks, commit.has_value());
    if (commit) State::record(*row, change.locks, *commit);
    state_->settle(at);
  }
  state_->bound();
}

std::optional<LockTable::Held> LockTable::held_against(Timestamp start,
                                                       std::span<const RowChange> changes) const {
  if (start < state_->horizon) return std::nullopt;
  std::optional<Held> held;
  bool lost = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::uint32_t at = 0;
    const Row* row = state_->find(changes[i].key, at);
    if (row == nullptr) continue;
    const auto look = [&](const Lock& lock, LockMode mode) {
      lost = lost || taken_since(lock, mode, start);
      if (held || !table::held_against(lock, mode)) return;
      held = Held{i, lock.exclusive ? lock.exclusive_owner : TransactionId{}};
    };
    for_each_lock(changes[i].locks, [&](std::size_t wanted, LockMode mode) {
      look(row->primary, mode);
      for (const auto& [group, lock] : row->groups) {
        if (wanted == 0 || group == wanted) look(lock, mode);
      }
    });
  }
  return lost ? std::nullopt : held;
}

void LockTable::remember(const RowChange& change, Timestamp commit) {
  if (commit <= state_->horizon || empty(change.locks)) return;
  const std::uint32_t at = state_->find_or_make(change.key);
  State::record(state_->rows[at], change.locks, commit);
  state_->settle(at);
  state_->bound();
}

void LockTable::forget(Timestamp before) {
  state_->horizon = std::max(state_->horizon, before);
  while (state_->oldest != kNobody && state_->rows[state_->oldest].newest() < before) {
    state_->drop(state_->oldest);
  }
}

void LockTable::lose_history() {
  while (state_->oldest != kNobody) state_->drop(state_->oldest);
}

Timestamp LockTable::horizon() const {
  return state_->horizon;
}

std::size_t LockTable::size() const {
  return state_->index.size();
}

}  // namespace moraine::table
