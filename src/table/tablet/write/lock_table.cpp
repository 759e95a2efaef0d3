#include "table/tablet/write/lock_table.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <bitset>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

#include "base/invariant.h"
#include "table/memory/memory_store.h"
#include "table/model/static_rows.h"

namespace moraine::table {
namespace {

constexpr std::size_t kKeptKeyBytes = 1'024;  // Memory reused for the next key of a row.
constexpr std::size_t kKeptRows = 1'024;      // Memory for held locks kept while none is held.

// The current holders of one lock of one row.
struct Holders {
  TransactionId last;  // The transaction that took it last.
  std::uint32_t readers = 0;
  std::uint32_t shared_writers = 0;
  bool exclusive = false;
  bool writes = false;  // The exclusive holder changes the row.
};

bool is_read(LockMode mode) {
  return mode == LockMode::kSharedWeak || mode == LockMode::kSharedStrong;
}

// Calls back with the index and the mode of every lock in the set.
template <class F>
void for_each_lock(const LockSet& set, F call) {
  static_assert(sizeof(set.modes) == kLocksMax);
  const auto visit = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (set.modes[i] != LockMode::kNone) call(i, set.modes[i]);
    }
  };
  // Most sets have one lock: eight modes are tested at once.
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

// A key of the index with its hash, which is not computed again when the index grows.
struct Name {
  std::string_view key;
  std::uint64_t hash = 0;
  explicit Name(std::string_view of) : key(of), hash(key_hash(as_bytes(of))) {}
  bool operator==(const Name& other) const { return hash == other.hash && key == other.key; }
  struct Hash {
    std::size_t operator()(const Name& name) const { return name.hash; }
  };
};

// Most transactions change few rows.
using Names = absl::InlinedVector<Name, 4>;

// A row with held locks.
struct Row : RowLocks<Holders> {
  std::string key;
  std::uint32_t holders = 0;  // Of all its locks.
};

// A lock or commit that conflicts with the requested lock.
struct Obstacle {
  std::string_view what;
  TransactionId owner;   // All zeros: unknown.
  Timestamp commit = 0;  // 0: held now.

  // `a write of lock group "x" by transaction 1-2-3-4 was committed at 5`
  std::string text(std::string_view group) const {
    std::string all(what);
    if (!group.empty()) all += fmt::format(" of lock group \"{}\"", group);
    all += owner == TransactionId{} ? " by another transaction"
                                    : " by transaction " + to_string(owner);
    if (commit != 0) return all + fmt::format(" was committed at {}", commit);
    return all + (what.ends_with("write") ? " is under way" : " is held");
  }
};

Obstacle committed(std::string_view what, const LockStamps& before, Timestamp commit) {
  return {what, commit == before.newest() ? before.last : TransactionId{}, commit};
}

// Was it committed since the start in a mode that conflicts with `mode`?
bool conflicts_since(const LockStamps& before, LockMode mode, Timestamp start) {
  if (before.exclusive > start) return true;
  if (mode != LockMode::kSharedWrite && before.shared_write > start) return true;
  return !is_read(mode) && before.strong_read > start;
}

// Is it held now in a mode that conflicts with `mode`?
bool conflicts_now(const Holders& now, LockMode mode) {
  if (now.exclusive) return true;
  if (mode != LockMode::kSharedWrite && now.shared_writers > 0) return true;
  return !is_read(mode) && now.readers > 0;
}

// The reason why `mode` cannot be acquired, if it cannot.
Obstacle obstacle(const Holders& now, const LockStamps& before, LockMode mode, Timestamp start) {
  const bool shares = mode == LockMode::kSharedWrite;
  const auto exclusive = [](bool writes) { return writes ? "a write" : "an exclusive lock"; };
  if (before.exclusive > start) {
    return committed(exclusive(!before.only_locked), before, before.exclusive);
  }
  if (now.exclusive) return {exclusive(now.writes), now.last};
  if (!shares && before.shared_write > start) {
    return committed("a shared write", before, before.shared_write);
  }
  if (!shares && now.shared_writers > 0) return {"a shared write", now.last};
  if (now.readers > 0) return {"a shared lock", now.last};
  return committed("a strong shared lock", before, before.strong_read);
}

// What is known of one row.
struct Known {
  const Row* now = nullptr;  // Null: none of its locks is held.
  bool has_before = false;
  RowStamps before;

  const Holders& holders(std::size_t lock) const {
    static const Holders kNone;
    return now == nullptr ? kNone : now->lock(lock);
  }
  // Calls back with every lock against which a request for lock `wanted` is checked.
  template <class F>
  void for_each_related(std::size_t wanted, F call) const {
    call(std::size_t{0});
    if (wanted != 0) {
      call(wanted);
      return;
    }
    std::bitset<kLocksMax> groups;
    if (now != nullptr) {
      for (const auto& [group, lock] : now->groups) groups.set(group);
    }
    for (const auto& [group, stamps] : before.groups) groups.set(group);
    for (std::size_t group = 1; groups.any() && group < kLocksMax; ++group) {
      if (groups.test(group)) call(group);
    }
  }
};

}  // namespace

struct LockTable::State {
  State(Timestamp horizon, std::size_t batch_rows) : history(horizon, batch_rows) {}

  LockHistory history;
  std::vector<std::string> group_names;  // By lock.
  std::deque<Row> rows;  // Addresses must not change: the index refers to their keys.
  std::vector<std::uint32_t> free;
  absl::flat_hash_map<Name, std::uint32_t, Name::Hash> index;

  // Empty: the primary lock.
  std::string name_of(std::size_t lock) const {
    if (lock == 0) return {};
    return lock < group_names.size() ? group_names[lock] : fmt::format("{}", lock);
  }
  // Of all changes; what they lead to is prefetched, since each is elsewhere in memory.
  Names names_of(std::span<const RowChange> changes) const;
  Known know(const Name& name, Timestamp start) const;
  Result<void> check(const RowChange& change, const Name& name, const TransactionId& id,
                     Timestamp start) const;
  void take(const RowChange& change, Name name, const TransactionId& id);
  static void release(Row& row, const LockSet& held);
};

Names LockTable::State::names_of(std::span<const RowChange> changes) const {
  Names names;
  names.reserve(changes.size());
  for (const RowChange& change : changes) {
    const Name& name = names.emplace_back(change.key);
    if (changes.size() == 1) break;
    index.prefetch(name);
    history.prefetch(name.hash);
  }
  return names;
}

Known LockTable::State::know(const Name& name, Timestamp start) const {
  Known known;
  if (const auto found = index.find(name); found != index.end()) known.now = &rows[found->second];
  known.has_before = history.find(name.hash, start, known.before);
  return known;
}

Result<void> LockTable::State::check(const RowChange& change, const Name& name,
                                     const TransactionId& id, Timestamp start) const {
  const Known known = know(name, start);
  Result<void> result;
  if (known.now == nullptr && !known.has_before) return result;
  for_each_lock(change.locks, [&](std::size_t wanted, LockMode mode) {
    known.for_each_related(wanted, [&](std::size_t lock) {
      const Holders& now = known.holders(lock);
      const LockStamps& before = known.before.lock(lock);
      if (!result || !(conflicts_since(before, mode, start) || conflicts_now(now, mode))) return;
      result = fail(Errc::kAborted,
                    fmt::format("row lock conflict: row {}: {}; transaction {} began at {}",
                                printable_key(change.key),
                                obstacle(now, before, mode, start).text(name_of(lock)),
                                to_string(id), start));
    });
  });
  return result;
}

void LockTable::State::take(const RowChange& change, Name name, const TransactionId& id) {
  auto found = index.find(name);
  if (found == index.end()) {
    std::uint32_t at = 0;
    if (free.empty()) {
      at = static_cast<std::uint32_t>(rows.size());
      rows.emplace_back();
    } else {
      at = free.back();
      free.pop_back();
    }
    rows[at].key = change.key;
    name.key = rows[at].key;
    found = index.emplace(name, at).first;
  }
  Row& row = rows[found->second];
  for_each_lock(change.locks, [&](std::size_t i, LockMode mode) {
    Holders& lock = row.lock(i);
    ++row.holders;
    lock.last = id;
    if (mode == LockMode::kExclusive) {
      lock.exclusive = true;
      lock.writes = change.kind != ChangeKind::kLock;
    } else if (mode == LockMode::kSharedWrite) {
      ++lock.shared_writers;
    } else {
      ++lock.readers;
    }
  });
}

void LockTable::State::release(Row& row, const LockSet& held) {
  for_each_lock(held, [&](std::size_t i, LockMode mode) {
    Holders& lock = row.lock(i);
    INVARIANT(row.holders > 0, "lock {} of a row is released twice", i);
    --row.holders;
    if (mode == LockMode::kExclusive) {
      lock.exclusive = false;
    } else if (mode == LockMode::kSharedWrite) {
      --lock.shared_writers;
    } else {
      --lock.readers;
    }
  });
}

LockTable::LockTable(Timestamp horizon, std::size_t history_batch_rows)
    : state_(std::make_unique<State>(horizon, history_batch_rows)) {}
LockTable::~LockTable() = default;

void LockTable::name_groups(std::vector<std::string> names) {
  state_->group_names = std::move(names);
}

Result<void> LockTable::acquire(const TransactionId& id, Timestamp start,
                                std::span<const RowChange> changes) {
  if (start < horizon()) {
    return fail(Errc::kAborted,
                fmt::format("transaction {} began at {}; conflicts are known since {} only",
                            to_string(id), start, horizon()));
  }
  const Names names = state_->names_of(changes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (empty(changes[i].locks)) continue;
    const Name& name = names[i];
    const auto checked = state_->check(changes[i], name, id, start);
    if (!checked) {
      release(id, changes.first(i), std::nullopt);
      return checked;
    }
    state_->take(changes[i], name, id);
  }
  return {};
}

void LockTable::release(const TransactionId& id, std::span<const RowChange> changes,
                        std::optional<Timestamp> commit) {
  const Names names = state_->names_of(changes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const RowChange& change = changes[i];
    if (empty(change.locks)) continue;
    const Name& name = names[i];
    const auto found = state_->index.find(name);
    INVARIANT(found != state_->index.end(), "a locked row is not in the index");
    const std::uint32_t at = found->second;
    Row& row = state_->rows[at];
    State::release(row, change.locks);
    if (commit) state_->history.record(name.hash, change, *commit, id);
    if (row.holders > 0) continue;
    state_->index.erase(found);
    row.primary = {};
    row.groups.clear();
    if (row.key.capacity() > kKeptKeyBytes) row.key = {};
    state_->free.push_back(at);
  }
}

std::optional<LockTable::Held> LockTable::conflicting_holder(
    Timestamp start, std::span<const RowChange> changes) const {
  if (start < horizon()) return std::nullopt;
  std::optional<Held> held;
  bool lost = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Known known = state_->know(Name(changes[i].key), start);
    for_each_lock(changes[i].locks, [&](std::size_t wanted, LockMode mode) {
      known.for_each_related(wanted, [&](std::size_t lock) {
        lost = lost || conflicts_since(known.before.lock(lock), mode, start);
        const Holders& now = known.holders(lock);
        if (held || !conflicts_now(now, mode)) return;
        held = Held{i, now.exclusive ? now.last : TransactionId{}};
      });
    });
  }
  return lost ? std::nullopt : held;
}

void LockTable::remember(const RowChange& change, Timestamp commit, const TransactionId& id) {
  state_->history.record(Name(change.key).hash, change, commit, id);
}

void LockTable::forget(Timestamp before) {
  state_->history.forget(before);
}

void LockTable::expire(Timestamp before) {
  state_->history.expire(before);
  if (!state_->index.empty() || state_->rows.size() <= kKeptRows) return;
  std::exchange(state_->index, {});
  std::exchange(state_->rows, {});
  std::exchange(state_->free, {});
}

LockHistory& LockTable::history() {
  return state_->history;
}
const LockHistory& LockTable::history() const {
  return state_->history;
}

void LockTable::drop_history() {
  state_->history.drop_all();
}

Timestamp LockTable::horizon() const {
  return state_->history.horizon();
}

std::size_t LockTable::size() const {
  return state_->index.size() + state_->history.size();
}

}  // namespace moraine::table
