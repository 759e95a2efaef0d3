#include "crash/tables/tables_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace moraine::crash {
namespace {

constexpr std::size_t kReportsMax = 20;
constexpr std::size_t kAcknowledgedChecked = 100;
constexpr std::size_t kSnapshots = 3;
constexpr std::size_t kLookups = 100;

std::set<RowName> markers_of(const TransactionReport& transaction) {
  std::set<RowName> markers;
  for (const RowChangeReport& change : transaction.changes) {
    markers.insert(marker_of(change.row, transaction.id));
  }
  return markers;
}

}  // namespace

void TablesVerifier::report(std::string what) {
  if (reports_.size() < kReportsMax) reports_.push_back(std::move(what));
}

Result<void> TablesVerifier::verify(Database& database) {
  tables_.clear();
  for (std::uint32_t table = 0; table < kTables; ++table) {
    TRY(Table opened, database.table(path_of(table)));
    tables_.push_back(std::move(opened));
  }
  TRY_VOID(settle_undecided());
  TRY_VOID(check_acknowledged());
  TRY_VOID(check_refused());
  TRY(const Timestamp now, database.timestamp());
  for (std::uint32_t table = 0; table < kTables; ++table) {
    TRY_VOID(check_scan(table, now));
    TRY_VOID(check_lookups(table, now));
  }
  const std::vector<Timestamp>& commits = truth_.commits();
  for (std::size_t i = 0; i < kSnapshots && !commits.empty(); ++i) {
    // One of the last of the round, and one of all.
    const std::size_t back = i == 0 ? random_.below(std::min<std::size_t>(commits.size(), 50))
                                    : random_.below(commits.size());
    const Timestamp past = commits[commits.size() - 1 - back];
    TRY_VOID(check_scan(kKeeper, past));
    TRY_VOID(check_lookups(kKeeper, past));
    ++counts_.snapshots;
  }
  truth_.forget_round();
  tables_.clear();
  return {};
}

Result<std::optional<Timestamp>> TablesVerifier::find_markers(const TransactionReport& transaction,
                                                              bool& partly) {
  std::optional<Timestamp> written;
  std::size_t there = 0;
  bool one_time = true;
  const std::set<RowName> markers = markers_of(transaction);
  for (const RowName& marker : markers) {
    const std::vector<Value> key = {Value(marker.shard), Value(marker.key)};
    TRY(const VersionedResult found,
        tables_[marker.table].lookup_versions(Key(key), kSyncLastCommitted));
    if (!found.found || found.write_timestamps.empty()) continue;
    ++there;
    const Timestamp at = found.write_timestamps.front();
    one_time = one_time && (!written || *written == at) && found.write_timestamps.size() == 1;
    written = at;
  }
  partly = there > 0 && (there < markers.size() || !one_time);
  return written;
}

Result<void> TablesVerifier::settle_undecided() {
  const auto undecided = truth_.undecided();
  for (const auto& [id, transaction] : undecided) {
    bool partly = false;
    TRY(const std::optional<Timestamp> commit, find_markers(transaction, partly));
    if (partly) {
      ++counts_.half_applied;
      report(fmt::format("HALF-APPLIED transaction {}, pending: {}", id, to_line(transaction)));
    }
    truth_.settle(id, commit);
  }
  return {};
}

Result<void> TablesVerifier::check_acknowledged() {
  const auto& acknowledged = truth_.acknowledged();
  const std::size_t checked = std::min(acknowledged.size(), kAcknowledgedChecked);
  // The last ones are the most at risk.
  for (std::size_t i = acknowledged.size() - checked; i < acknowledged.size(); ++i) {
    const auto& [transaction, commit] = acknowledged[i];
    bool partly = false;
    TRY(const std::optional<Timestamp> written, find_markers(transaction, partly));
    if (partly) ++counts_.half_applied;
    if (!partly && written != commit) ++counts_.lost;
    if (!partly && written == commit) continue;
    report(fmt::format("{} transaction {}, committed at {}, found at {}: {}",
                       partly ? "HALF-APPLIED" : "LOST", transaction.id, commit,
                       written.value_or(0), to_line(transaction)));
  }
  return {};
}

Result<void> TablesVerifier::check_refused() {
  const auto& refused = truth_.refused();
  const std::size_t checked = std::min(refused.size(), kAcknowledgedChecked);
  for (std::size_t i = refused.size() - checked; i < refused.size(); ++i) {
    bool partly = false;
    TRY(const std::optional<Timestamp> written, find_markers(refused[i], partly));
    if (!written) continue;
    ++(partly ? counts_.half_applied : counts_.wrong);
    report(
        fmt::format("WRONG transaction {} was aborted but exists at {}", refused[i].id, *written));
  }
  return {};
}

void TablesVerifier::compare(const RowName& row, const std::optional<RowState>& expected,
                             const std::optional<RowState>& found, Timestamp timestamp) {
  ++counts_.rows;
  if (expected == found) return;
  const bool missing = expected && !found;
  ++(missing ? counts_.lost : counts_.wrong);
  report(fmt::format("{} row {} of {} at {}: expected {}, found {}", missing ? "LOST" : "WRONG",
                     to_string(row), path_of(row.table), timestamp, to_string(expected),
                     to_string(found)));
}

// Compares both in key order.
Result<void> TablesVerifier::check_scan(std::uint32_t table, Timestamp timestamp) {
  const std::map<RowName, RowState> all = truth_.all_at(table, timestamp);
  auto expected = all.begin();
  ScanOptions options;
  options.read.timestamp = timestamp;
  TRY(Scan scan, tables_[table].scan(std::move(options)));
  ScanBatch batch;
  std::vector<Value> cells;
  for (;;) {
    TRY(const bool more, scan.next(batch));
    if (!more) break;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      cells.clear();
      for (const ScanBatch::Column& column : batch.columns) cells.push_back(column.at(i));
      const RowName row{table, cells[0].as_int64(), cells[1].as_int64()};
      for (; expected != all.end() && expected->first < row; ++expected) {
        compare(expected->first, expected->second, std::nullopt, timestamp);
      }
      const auto state = state_of(tables_[table].schema(), row, cells);
      if (!state) {
        ++counts_.wrong;
        report(fmt::format("WRONG row {} at {}: {}", to_string(row), timestamp,
                           state.error().message()));
      }
      const bool known = expected != all.end() && expected->first == row;
      if (state)
        compare(row, known ? std::optional(expected->second) : std::nullopt, *state, timestamp);
      if (known) ++expected;
    }
  }
  for (; expected != all.end(); ++expected) {
    compare(expected->first, expected->second, std::nullopt, timestamp);
  }
  return {};
}

Result<void> TablesVerifier::check_lookups(std::uint32_t table, Timestamp timestamp) {
  std::vector<RowName> rows;
  std::vector<std::vector<Value>> values;
  for (std::size_t i = 0; i < kLookups; ++i) {
    rows.push_back({table, static_cast<std::int64_t>(random_.below(kShards)),
                    static_cast<std::int64_t>(random_.below(kKeysPerShard))});
    values.push_back({Value(rows.back().shard), Value(rows.back().key)});
  }
  const std::vector<Key> keys(values.begin(), values.end());
  ReadOptions options;
  options.timestamp = timestamp;
  options.use_lookup_cache = random_.one_in(2);
  Rowset found;
  TRY_VOID(tables_[table].lookup(keys, options, found));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<RowState> state;
    if (found.exists(i)) {
      TRY(state, state_of(tables_[table].schema(), rows[i], found.row(i)));
    }
    compare(rows[i], truth_.at(rows[i], timestamp), state, timestamp);
  }
  return {};
}

}  // namespace moraine::crash
