// The history as a graph of dependencies.

#include <algorithm>

#include "sim/tables/table_model.h"

namespace moraine::sim {
namespace {

// A row whose halves are written separately counts as two in the graph.
std::uint64_t graph_row(const RowName& row, Halves halves) {
  return row.number() * (kWholeRow + 1) + halves;
}

}  // namespace

void TableModel::add_read(CommittedTransaction& to, const RowName& row, const SeenRow& seen_then,
                          Timestamp start) {
  const Versions& versions = rows_[row];
  if (sort_of(row) == RowSort::kHalves) {
    for (const Halves half : {kLeftHalf, kRightHalf}) {
      to.reads.push_back({graph_row(row, half), count_at(versions, start, half)});
    }
    return;
  }
  // The version that was seen, by its writer where it has one.
  std::size_t version = count_at(versions, start);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const bool put = versions[i].change->kind == PlannedKind::kPut;
    if (put && seen_then.writer == static_cast<std::int64_t>(versions[i].by->number)) {
      version = std::max(i + 1, sort_of(row) == RowSort::kSum ? version : 0);
    }
  }
  to.reads.push_back({graph_row(row, kWholeRow), version});
}

void TableModel::add_write(CommittedTransaction& to, const PlannedChange& change,
                           Timestamp commit) {
  const Versions& versions = rows_[change.row];
  if (sort_of(change.row) != RowSort::kHalves) {
    to.writes.push_back({graph_row(change.row, kWholeRow), count_at(versions, commit)});
    return;
  }
  for (const Halves half : {kLeftHalf, kRightHalf}) {
    if ((changed_halves(change) & half) == 0) continue;
    to.writes.push_back({graph_row(change.row, half), count_at(versions, commit, half)});
  }
}

void TableModel::check_cycles() {
  std::vector<CommittedTransaction> history;
  for (const auto& [number, transaction] : transactions_) {
    if (transaction.fate != Fate::kCommitted) continue;
    CommittedTransaction one;
    one.name = number;
    one.locks_reads = transaction.locks_reads;
    for (const auto& [row, seen_then] : transaction.reads) {
      if (!is_open(row)) add_read(one, row, seen_then, transaction.start);
    }
    for (const PlannedChange& change : transaction.changes) {
      if (changed_halves(change) != 0) add_write(one, change, transaction.commit);
    }
    history.push_back(std::move(one));
  }
  if (const auto cycle = find_snapshot_cycle(history)) {
    history_.fail("not a snapshot isolation history: " + *cycle);
  }
  if (const auto cycle = find_locked_cycle(history)) {
    history_.fail("transactions that lock what they read are not serializable: " + *cycle);
  }
}

}  // namespace moraine::sim
