#include "crash/tables/tables_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/random.h"

namespace moraine::crash {
namespace {

constexpr std::uint64_t kTextBytesMax = 400;

}  // namespace

RowName marker_of(const RowName& row, std::uint64_t id) {
  return {row.table, row.shard, kMarkerBase + static_cast<std::int64_t>(id)};
}

std::string text_of(std::uint64_t id, const RowName& row) {
  std::string text = fmt::format("{} of {};", to_string(row), id);
  if (row.key >= kMarkerBase) return text;
  SeededRandom random(id * 1'000'003 + static_cast<std::uint64_t>(row.key));
  const std::uint64_t bytes = random.below(kTextBytesMax);
  while (text.size() < bytes) text += fmt::format("{:x}", random.next());
  return text;
}

std::string to_string(const std::optional<RowState>& state) {
  if (!state) return "no row";
  return fmt::format("[writer {}, extra {}, sum {}]",
                     state->writer ? std::to_string(*state->writer) : "none", state->extra,
                     state->sum ? std::to_string(*state->sum) : "none");
}

void TablesTruth::begin(TransactionReport transaction) {
  ++counts_.begun;
  next_id_ = std::max(next_id_, transaction.id + 1);
  if (transaction.start <= newest_before_) {
    violations_.push_back(
        fmt::format("transaction {} began at {}; {} was issued before the program was started",
                    transaction.id, transaction.start, newest_before_));
  }
  newest_ = std::max(newest_, transaction.start);
  const std::uint64_t id = transaction.id;
  undecided_.insert_or_assign(id, std::move(transaction));
}

void TablesTruth::committed(std::uint64_t id, Timestamp commit) {
  const auto found = undecided_.find(id);
  if (found == undecided_.end()) return;
  if (commit <= found->second.start) {
    violations_.push_back(fmt::format("transaction {} began at {} and was committed at {}", id,
                                      found->second.start, commit));
  }
  ++counts_.acknowledged;
  newest_ = std::max(newest_, commit);
  commits_.push_back(commit);
  apply(found->second, commit);
  acknowledged_.emplace_back(std::move(found->second), commit);
  undecided_.erase(found);
}

void TablesTruth::aborted(std::uint64_t id) {
  const auto found = undecided_.find(id);
  if (found == undecided_.end()) return;
  ++counts_.aborted;
  refused_.push_back(std::move(found->second));
  undecided_.erase(found);
}

void TablesTruth::settle(std::uint64_t id, std::optional<Timestamp> commit) {
  const auto found = undecided_.find(id);
  if (found == undecided_.end()) return;
  if (commit) {
    newest_ = std::max(newest_, *commit);
    apply(found->second, *commit);
  }
  ++(commit ? counts_.found : counts_.absent);
  undecided_.erase(found);
}

void TablesTruth::forget_round() {
  acknowledged_.clear();
  refused_.clear();
  newest_before_ = newest_;
}

void TablesTruth::apply(const TransactionReport& transaction, Timestamp commit) {
  for (const RowChangeReport& change : transaction.changes) {
    std::vector<Version>& versions = rows_[change.row];
    const auto later = std::ranges::upper_bound(versions, commit, {}, &Version::commit);
    versions.insert(later, {commit, transaction.id, change.kind, change.argument});
  }
}

std::optional<RowState> TablesTruth::replay(const std::vector<Version>& versions, Timestamp at) {
  std::optional<RowState> state;
  for (const Version& version : versions) {
    if (version.commit > at) break;
    if (version.kind == RowChangeKind::kDelete) {
      state.reset();
      continue;
    }
    if (!state) state.emplace();
    if (version.kind == RowChangeKind::kPut) {
      state->writer = version.id;
      state->extra = version.argument;
    } else {
      state->sum = state->sum.value_or(0) + version.argument;
    }
  }
  return state;
}

std::optional<RowState> TablesTruth::at(const RowName& row, Timestamp timestamp) const {
  const auto found = rows_.find(row);
  return found == rows_.end() ? std::nullopt : replay(found->second, timestamp);
}

std::map<RowName, RowState> TablesTruth::all_at(std::uint32_t table, Timestamp timestamp) const {
  std::map<RowName, RowState> all;
  const RowName first{table, INT64_MIN, INT64_MIN};
  for (auto at = rows_.lower_bound(first); at != rows_.end() && at->first.table == table; ++at) {
    if (const auto state = replay(at->second, timestamp)) {
      all.emplace_hint(all.end(), at->first, *state);
    }
  }
  return all;
}

}  // namespace moraine::crash
