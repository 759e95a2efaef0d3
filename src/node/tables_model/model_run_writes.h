// Transactions of ModelRun. For tests.
#pragma once

#include "node/tables_model/model_run.h"

namespace moraine {

inline table::LockMode ModelRun::mode_of(const RowStep& row) const {
  switch (row.act) {
    case RowAct::kSharedDelta: return table::LockMode::kSharedWrite;
    case RowAct::kLockWeak: return table::LockMode::kSharedWeak;
    case RowAct::kLockStrong: return table::LockMode::kSharedStrong;
    default: return table::LockMode::kExclusive;
  }
}

inline std::vector<std::string> ModelRun::groups_of(const RowStep& row) const {
  std::vector<std::string> groups;
  for (const std::string& group : row.groups) {
    if (std::ranges::find(schema_->columns, group, &ColumnSchema::lock) != schema_->columns.end()) {
      groups.push_back(group);
    }
  }
  return groups;
}

inline NaiveLocks ModelRun::locks_of(const RowStep& row) const {
  NaiveLocks locks;
  if (row.act == RowAct::kDelete) {
    locks.add("", table::LockMode::kExclusive);
  } else if (row.act >= RowAct::kLockWeak) {
    const std::vector<std::string> groups = groups_of(row);
    if (groups.empty()) locks.add("", mode_of(row));
    for (const std::string& group : groups) locks.add(group, mode_of(row));
  } else {
    for (const ColumnSchema& column : schema_->columns) {
      if (column.key) continue;
      if (row.act != RowAct::kInsert && !row.cells.contains(column.name)) continue;
      locks.add(column.lock, mode_of(row));
    }
  }
  return locks;
}

inline std::map<std::size_t, NaiveLocks> ModelRun::all_locks(
    const std::vector<RowStep>& rows) const {
  std::map<std::size_t, NaiveLocks> all;
  for (const RowStep& row : rows) all[row.key].add(locks_of(row));
  return all;
}

// Overwriting inserts set what they do not name to null; sums stay, and null deltas are nothing.
inline NaiveVersion ModelRun::version_of(const RowStep& row, Timestamp commit) const {
  NaiveVersion version;
  version.timestamp = commit;
  version.deletes = row.act == RowAct::kDelete;
  if (version.deletes) return version;
  const bool deltas = row.act == RowAct::kDelta || row.act == RowAct::kSharedDelta;
  for (const ColumnSchema& column : schema_->columns) {
    if (column.key) continue;
    const auto given = row.cells.find(column.name);
    const bool named = given != row.cells.end();
    const bool aggregates = column.aggregate != Aggregate::kNone;
    if (!named && (row.act != RowAct::kInsert || aggregates)) continue;
    NaiveCell cell;
    if (named) cell.value = given->second;
    cell.delta = deltas && aggregates;
    if (cell.delta && is_null(cell.value)) continue;
    version.cells[column.name] = std::move(cell);
  }
  return version;
}

inline Result<void> ModelRun::give(table::ChangeSet& changes, const RowStep& row) const {
  const std::vector<Value> key = values_of(row.key);
  if (row.act == RowAct::kDelete) return changes.erase(Key(key));
  if (row.act >= RowAct::kLockWeak) return changes.lock(Key(key), groups_of(row), mode_of(row));
  std::vector<NamedValue> named;
  std::size_t at = 0;
  for (const ColumnSchema& column : schema_->columns) {
    if (column.key && column.expression.empty()) named.push_back({column.name, key[at++]});
  }
  for (const auto& [name, cell] : row.cells) named.push_back({name, to_value(cell)});
  table::InsertOptions options;
  options.update = row.act != RowAct::kInsert;
  options.aggregate = row.act == RowAct::kDelta || row.act == RowAct::kSharedDelta;
  options.lock = mode_of(row);
  return changes.insert(named, options);
}

inline Result<Timestamp> ModelRun::commit(const std::vector<RowStep>& rows, Timestamp start) {
  table::ChangeSet changes(layout_);
  for (const RowStep& row : rows) {
    TRY_VOID(give(changes, row));
  }
  return tables_.commit(changes, start);
}

// One after the other, in one transaction.
inline void ModelRun::merge(NaiveVersion& older, NaiveVersion newer) const {
  if (newer.deletes) {
    older = std::move(newer);
    return;
  }
  if (older.deletes) {
    // The old value is completely replaced, though there is no tombstone.
    older.deletes = false;
    for (const ColumnSchema& column : schema_->columns) {
      if (!column.key) older.cells[column.name] = {};
    }
  }
  for (auto& [name, cell] : newer.cells) {
    const auto before = older.cells.find(name);
    if (!cell.delta || before == older.cells.end()) {
      older.cells[name] = std::move(cell);
      continue;
    }
    const Aggregate aggregate = schema_->columns[*schema_->find(name)].aggregate;
    before->second.value = fold_cells(aggregate, before->second.value, cell.value);
  }
}

inline void ModelRun::remember(const std::vector<RowStep>& rows, Timestamp commit) {
  std::map<std::string, NaiveVersion> versions;
  for (const RowStep& row : rows) {
    if (row.act >= RowAct::kLockWeak) continue;
    NaiveVersion version = version_of(row, commit);
    const auto [known, first] = versions.try_emplace(encoded(row.key), version);
    if (!first) merge(known->second, std::move(version));
  }
  for (auto& [key, version] : versions) model_.add(key, std::move(version));
  moments_.push_back({commit, time_});
  // All tablets of the transaction get its outcome; until then their rows stay locked.
  tables_.world().run_for(kSettleTime);
}

inline std::string ModelRun::write(const ProgramStep& step) {
  const Timestamp start = tables_.now();
  const auto committed = commit(step.rows, start);
  if (!committed) {
    complain("a write failed: " + committed.error().message());
    return "failed";
  }
  if (*committed <= start) complain("a commit timestamp is not above the start");
  remember(step.rows, *committed);
  return "written";
}

inline std::string ModelRun::overlap(const ProgramStep& step) {
  const Timestamp first_start = tables_.now();
  const Timestamp later_start = tables_.now();
  const auto first = commit(step.rows, first_start);
  if (!first) {
    complain("the first of two overlapping transactions failed: " + first.error().message());
    return "failed";
  }
  remember(step.rows, *first);
  // What is in chunks is not forgotten.
  if (step.draw % 2 == 1) expect_ok(tables_.flush(), "flush");
  bool loses = false;
  const auto earlier = all_locks(step.rows);
  for (const auto& [key, locks] : all_locks(step.later)) {
    const auto met = earlier.find(key);
    loses = loses || (met != earlier.end() && naive_conflict(met->second, locks));
  }
  const auto later = commit(step.later, later_start);
  if (later) remember(step.later, *later);
  const bool aborted = !later && later.error().code == Errc::kAborted;
  expect_equal(loses ? "aborted" : "written",
               later ? "written" : (aborted ? "aborted" : later.error().message()),
               "the later of two overlapping transactions");
  return later ? "both written" : "the later one lost";
}

// Each is refused, and changes nothing.
inline std::string ModelRun::mistake(const ProgramStep& step) {
  table::ChangeSet changes(layout_);
  RowStep row;
  row.key = step.draw % program_.keys.size();
  for (const ColumnSchema& column : schema_->columns) {
    if (column.key) continue;
    const bool text = physical_type(column.type) == ValueType::kString;
    // Of another type than the column.
    if (step.draw % 3 == 0 && column.type != ColumnType::kAny) {
      row.cells[column.name] = text ? Cell(std::int64_t{1}) : Cell(std::string("text"));
      break;
    }
  }
  if (row.cells.empty()) row.cells["nobody"] = Cell(std::int64_t{1});
  if (step.draw % 3 == 1) {
    const auto altered = tables_.run(tables_.tables().alter(TestTables::kPath, *schema_));
    if (altered || altered.error().code != Errc::kReadOnly) complain("a mounted table was altered");
  }
  const auto given = give(changes, row);
  if (given || given.error().code != Errc::kInvalidArgument) complain("a mistake was accepted");
  return given ? "accepted" : given.error().message();
}

inline std::string ModelRun::freeze() {
  StoredTables& tables = tables_.tables();
  expect_ok(tables_.run(tables.freeze(TestTables::kPath)), "freeze");
  RowStep row;
  row.act = RowAct::kDelete;
  const auto written = commit({row}, tables_.now());
  if (written || written.error().code != Errc::kReadOnly) complain("a frozen table was written");
  const auto read = tables_.lookup({encoded(0)}, {0}, kSyncLastCommitted);
  if (!read) complain("a frozen table is not read: " + read.error().message());
  expect_ok(tables_.run(tables.unfreeze(TestTables::kPath)), "unfreeze");
  return "frozen";
}

}  // namespace moraine
