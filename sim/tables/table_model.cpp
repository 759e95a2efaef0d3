#include "sim/tables/table_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {
namespace {

bool changes_row(const PlannedChange& change) {
  return changed_halves(change) != 0;
}

// A version of the row identifies the transaction.
bool signs(const PlannedChange& change) {
  return changes_row(change) && change.kind != PlannedKind::kDelete;
}

bool is_delta(const PlannedChange& change) {
  return change.kind == PlannedKind::kDelta || change.kind == PlannedKind::kSharedDelta;
}

const PlannedChange* change_of_row(const ModelTransaction& transaction, const RowName& row) {
  for (const PlannedChange& change : transaction.changes) {
    if (change.row == row) return &change;
  }
  return nullptr;
}

}  // namespace

void TableModel::drawn(Timestamp given, Timestamp floor) {
  if (given <= floor) {
    history_.fail(fmt::format("timestamp {} was issued after {}", given, floor));
  }
  floor_ = std::max(floor_, given);
}

void TableModel::sent(ModelTransaction transaction) {
  transaction.sent = history_.now();
  const std::uint64_t number = transaction.number;
  transactions_[number] = std::move(transaction);
}

void TableModel::refused(std::uint64_t number) {
  transactions_.at(number).fate = Fate::kRefused;
}

void TableModel::unknown(std::uint64_t number) {
  const ModelTransaction& transaction = transactions_.at(number);
  if (!keeps_all_ && transaction.fate == Fate::kUnknown) wanted_[number] = transaction.sent;
}

std::vector<std::pair<std::uint64_t, RowName>> TableModel::wanted() const {
  std::vector<std::pair<std::uint64_t, RowName>> all;
  for (const auto& [number, looked_at] : wanted_) {
    for (const PlannedChange& change : transactions_.at(number).changes) {
      if (!signs(change)) continue;
      all.emplace_back(number, change.row);
      break;
    }
  }
  return all;
}

void TableModel::looked(std::uint64_t number, const RowName& row,
                        const std::vector<FoundVersion>& versions) {
  const auto known = wanted_.find(number);
  if (known == wanted_.end()) return;
  for (const FoundVersion& version : versions) {
    if (version.by() != static_cast<std::int64_t>(number)) continue;
    resolve(row, transactions_.at(number), version.at);
    wanted_.erase(known);
    return;
  }
  // Its versions may have been written and dropped since the last poll.
  const bool missed = history_.now() - known->second > *versions_stay_;
  known->second = history_.now();
  if (missed) wanted_.erase(known);
}

void TableModel::committed(std::uint64_t number, Timestamp commit, Timestamp floor) {
  drawn(commit, floor);
  ModelTransaction& transaction = transactions_.at(number);
  transaction.fate = Fate::kCommitted;
  transaction.commit = commit;
  transaction.acknowledged = history_.now();
  if (commit <= transaction.start) {
    history_.fail(fmt::format("transaction {} began at {} and was committed at {}", number,
                              transaction.start, commit));
  }
}

const ModelTransaction* TableModel::find(std::uint64_t number) const {
  const auto known = transactions_.find(number);
  return known == transactions_.end() ? nullptr : &known->second;
}

void TableModel::seen(ModelRead read) {
  // The writer of what was seen must have been sent and not refused; the rest is judged later.
  for (const auto& number : {read.seen.writer, read.seen.left, read.seen.right}) {
    if (!number) continue;
    const ModelTransaction* writer = find(static_cast<std::uint64_t>(*number));
    if (!writer || writer->fate == Fate::kRefused) {
      history_.fail(fmt::format("{}: a read at {} shows {}, whose transaction {}",
                                to_string(read.row), read.at, to_string(read.seen),
                                writer ? "was refused" : "is not known"));
    }
  }
  reads_.push_back(std::move(read));
}

void TableModel::found(const RowName& row, const std::vector<FoundVersion>& versions) {
  found_[row] = versions;
}

// Null: unknown. Deltas that retention has folded have no single writer.
ModelTransaction* TableModel::writer_of(const RowName& row, const FoundVersion& version) {
  const std::optional<std::int64_t> number = version.by();
  const bool folded = !version.writer && !version.half && !keeps_all_;
  if (!number || folded) return nullptr;
  const auto known = transactions_.find(static_cast<std::uint64_t>(*number));
  if (known == transactions_.end() || !change_of_row(known->second, row)) {
    history_.fail(fmt::format("{}: the version at {} is of transaction {}, which did not write it",
                              to_string(row), version.at, *number));
    return nullptr;
  }
  return &known->second;
}

void TableModel::resolve(const RowName& row, ModelTransaction& transaction, Timestamp at) {
  if (transaction.fate == Fate::kRefused) {
    return history_.fail(fmt::format("{}: transaction {} was refused, but its change exists at {}",
                                     to_string(row), transaction.number, at));
  }
  if (transaction.fate == Fate::kUnknown) {
    transaction.fate = Fate::kCommitted;
    transaction.commit = at;
  }
  if (transaction.commit != at || at <= transaction.start) {
    history_.fail(fmt::format(
        "{}: transaction {} began at {}, was committed at {}, and its change exists at {}",
        to_string(row), transaction.number, transaction.start, transaction.commit, at));
  }
}

// Every transaction with a delete has a put too, which shows when it was committed.
void TableModel::resolve_deletes() {
  std::map<Timestamp, const ModelTransaction*> by_commit;
  for (const auto& [number, transaction] : transactions_) {
    if (transaction.fate == Fate::kCommitted) by_commit[transaction.commit] = &transaction;
  }
  for (const auto& [row, versions] : found_) {
    for (const FoundVersion& version : versions) {
      if (!version.deleted) continue;
      const auto known = by_commit.find(version.at);
      if (known == by_commit.end() && !keeps_all_) continue;
      const PlannedChange* change =
          known == by_commit.end() ? nullptr : change_of_row(*known->second, row);
      if (change && change->kind == PlannedKind::kDelete) continue;
      history_.fail(fmt::format("{}: no transaction deleted it at {}", to_string(row), version.at));
    }
  }
}

// No committed change is missing, no transaction is applied in part.
void TableModel::check_kept() {
  for (const auto& [number, transaction] : transactions_) {
    if (transaction.fate != Fate::kCommitted) continue;
    for (const PlannedChange& change : transaction.changes) {
      if (!changes_row(change)) continue;
      const auto known = found_.find(change.row);
      const bool there = known != found_.end() &&
                         std::ranges::any_of(known->second, [&](const FoundVersion& version) {
                           if (version.at != transaction.commit) return false;
                           return version.deleted == (change.kind == PlannedKind::kDelete);
                         });
      if (there) continue;
      history_.fail(
          fmt::format("{}: transaction {} was committed at {}{}, its change is missing",
                      to_string(change.row), number, transaction.commit,
                      transaction.acknowledged == Instant::never() ? " as others show" : ""));
    }
  }
}

void TableModel::line_up() {
  for (const auto& [number, transaction] : transactions_) {
    if (transaction.fate == Fate::kRefused) continue;
    for (const PlannedChange& change : transaction.changes) {
      if (!changes_row(change)) continue;
      if (transaction.fate == Fate::kCommitted) {
        rows_[change.row].push_back({transaction.commit, &transaction, &change});
      } else if (!keeps_all_) {
        open_.insert(change.row);
      }
    }
  }
  for (auto& [row, versions] : rows_) {
    std::ranges::sort(versions, {}, &Version::at);
    for (std::size_t i = 1; i < versions.size(); ++i) {
      if (versions[i - 1].at != versions[i].at) continue;
      history_.fail(fmt::format("{}: transactions {} and {} were both committed at {}",
                                to_string(row), versions[i - 1].by->number, versions[i].by->number,
                                versions[i].at));
    }
  }
}

void TableModel::check_pair(const RowName& row, const Version& first, const Version& second) {
  const bool shared = first.change->kind == PlannedKind::kSharedDelta &&
                      second.change->kind == PlannedKind::kSharedDelta;
  const bool apart = (changed_halves(*first.change) & changed_halves(*second.change)) == 0;
  if (shared || apart || second.by->start >= first.at) return;
  history_.fail(fmt::format(
      "{}: transaction {} began at {}, before {} was committed at {}, and was "
      "committed too, at {}",
      to_string(row), second.by->number, second.by->start, first.by->number, first.at, second.at));
}

// The first committer wins.
void TableModel::check_overlaps() {
  for (const auto& [row, versions] : rows_) {
    for (std::size_t i = 1; i < versions.size(); ++i) {
      check_pair(row, versions[i - 1], versions[i]);
      // Any number of shared writes, and writes of one half, may lie between two that conflict.
      for (std::size_t k = i - 1; k > 0; --k) {
        const PlannedChange& between = *versions[k].change;
        const bool shared = between.kind == PlannedKind::kSharedDelta;
        if (!shared && changed_halves(between) == kWholeRow) break;
        check_pair(row, versions[k - 1], versions[i]);
      }
    }
  }
}

// A row is not changed while it is locked by a committed reader.
void TableModel::check_read_locks() {
  for (const auto& [number, reader] : transactions_) {
    if (reader.fate != Fate::kCommitted) continue;
    for (const PlannedChange& lock : reader.changes) {
      if (read_halves(lock) != 0) check_read_lock(reader, lock);
    }
  }
}

// A weak lock is dropped with its transaction: a transaction that began before may write after.
void TableModel::check_read_lock(const ModelTransaction& reader, const PlannedChange& lock) {
  for (const Version& version : rows_[lock.row]) {
    if (version.by == &reader) continue;
    if ((changed_halves(*version.change) & read_halves(lock)) == 0) continue;
    const bool within = reader.start < version.at && version.at < reader.commit;
    const bool around = version.by->start < reader.commit && reader.commit < version.at;
    if (!within && (lock.weak || !around)) continue;
    history_.fail(
        fmt::format("{}: transaction {} held a read lock from {} to {}; {} changed it "
                    "from {} to {}",
                    to_string(lock.row), reader.number, reader.start, reader.commit,
                    version.by->number, version.by->start, version.at));
  }
}

std::size_t TableModel::count_at(const Versions& versions, Timestamp at) {
  const auto above = std::ranges::upper_bound(versions, at, {}, &Version::at);
  return static_cast<std::size_t>(above - versions.begin());
}

std::size_t TableModel::count_at(const Versions& versions, Timestamp at, Halves halves) {
  std::size_t count = 0;
  for (const Version& version : versions) {
    if (version.at <= at && (changed_halves(*version.change) & halves) != 0) ++count;
  }
  return count;
}

// The row after its first `count` versions.
SeenRow TableModel::state(const Versions& versions, std::size_t count) {
  SeenRow row;
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedChange& change = *versions[i].change;
    const auto number = static_cast<std::int64_t>(versions[i].by->number);
    if (change.kind == PlannedKind::kDelete) {
      row = {};
      continue;
    }
    row.exists = true;
    if (is_delta(change)) {
      row.sum = row.sum.value_or(0) + number;
    } else if (change.kind == PlannedKind::kLeft) {
      row.left = number;
    } else if (change.kind == PlannedKind::kRight) {
      row.right = number;
    } else {
      row.writer = number;
      row.value = change.value;
      if (change.extra) row.extra = number;
    }
  }
  return row;
}

void TableModel::check_read(const ModelRead& read) {
  if (is_open(read.row)) return;
  ++reads_checked_;
  const Versions& versions = rows_[read.row];
  if (read.at > kMaxTimestamp) return check_last_committed(read, versions);
  const SeenRow expected = state(versions, count_at(versions, read.at));
  if (expected == read.seen) return;
  history_.fail(fmt::format("{}: a read at {} shows {}; committed up to it: {}",
                            to_string(read.row), read.at, to_string(read.seen),
                            to_string(expected)));
}

// Any state that has everything acknowledged before the read began.
void TableModel::check_last_committed(const ModelRead& read, const Versions& versions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions[i].by->acknowledged <= read.began) count = i + 1;
  }
  if (read.at == kAsyncLastCommitted) count = 0;
  const std::size_t least = count;
  for (; count <= versions.size(); ++count) {
    if (state(versions, count) == read.seen) return;
  }
  history_.fail(
      fmt::format("{}: a read of what is last committed shows {}; acknowledged before it "
                  "began: {}",
                  to_string(read.row), to_string(read.seen), to_string(state(versions, least))));
}

void TableModel::check_reads() {
  for (const ModelRead& read : reads_) check_read(read);
  for (const auto& [number, transaction] : transactions_) {
    for (const auto& [row, seen_then] : transaction.reads) {
      check_read({row, transaction.start, Instant{}, seen_then});
    }
  }
}

void TableModel::judge() {
  for (const auto& [row, versions] : found_) {
    for (const FoundVersion& version : versions) {
      ModelTransaction* writer = version.deleted ? nullptr : writer_of(row, version);
      if (writer) resolve(row, *writer, version.at);
    }
  }
  // They were polled all the time.
  for (const auto& [number, looked_at] : wanted_) {
    if (transactions_.at(number).fate == Fate::kUnknown) refused(number);
  }
  resolve_deletes();
  if (keeps_all_) check_kept();
  line_up();
  check_reads();
  check_overlaps();
  check_read_locks();
  check_cycles();
}

}  // namespace moraine::sim
