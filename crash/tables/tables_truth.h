// TablesTruth: what the killed program has promised for its tables, kept outside of it.
//
// Promise    A transaction is undecided from the time it is pending until it is settled: committed
//            at a timestamp, or aborted. at() is the required state of a row at a timestamp, from
//            the transactions that are settled as committed and nothing else.
// Invariants (1) An id is used once. (2) What a put writes is derived from the transaction's id and
//            the row. (3) Every transaction puts a marker into each shard of each table that it
//            changes, so its markers show whether an undecided one was applied.
// Threading  One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crash/tables/report.h"

namespace moraine::crash {

// A marker's key is this plus the transaction's id. Other keys are below.
inline constexpr std::int64_t kMarkerBase = std::int64_t{1} << 40;

RowName marker_of(const RowName& row, std::uint64_t id);
std::string text_of(std::uint64_t id, const RowName& row);

struct RowState {
  std::optional<std::uint64_t> writer;  // Of the texts; none: deltas only.
  std::int64_t extra = 0;               // Extra columns known to its put; the last one is set.
  std::optional<std::int64_t> sum;
  bool operator==(const RowState&) const = default;
};
std::string to_string(const std::optional<RowState>& state);

struct TruthCounts {
  std::uint64_t begun = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t aborted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t found = 0;   // Undecided ones that were found applied,
  std::uint64_t absent = 0;  // and not applied.
};

class TablesTruth {
 public:
  void begin(TransactionReport transaction);
  void committed(std::uint64_t id, Timestamp commit);
  void aborted(std::uint64_t id);
  void unknown(std::uint64_t id) { counts_.unknown += undecided_.contains(id) ? 1 : 0; }
  // After reading the tables. nullopt: not applied.
  void settle(std::uint64_t id, std::optional<Timestamp> commit);

  const std::map<std::uint64_t, TransactionReport>& undecided() const { return undecided_; }
  // Since the last forget_round().
  const std::vector<std::pair<TransactionReport, Timestamp>>& acknowledged() const {
    return acknowledged_;
  }
  const std::vector<TransactionReport>& refused() const { return refused_; }
  void forget_round();

  // nullopt: no such row.
  std::optional<RowState> at(const RowName& row, Timestamp timestamp) const;
  std::map<RowName, RowState> all_at(std::uint32_t table, Timestamp timestamp) const;
  const std::vector<Timestamp>& commits() const { return commits_; }  // Acknowledged, all.
  std::uint64_t next_id() const { return next_id_; }
  const TruthCounts& counts() const { return counts_; }
  // Contradictions, in the order in which they were found.
  std::vector<std::string>& violations() { return violations_; }

 private:
  struct Version {
    Timestamp commit = 0;
    std::uint64_t id = 0;
    RowChangeKind kind = RowChangeKind::kPut;
    std::int64_t argument = 0;
  };
  void apply(const TransactionReport& transaction, Timestamp commit);
  static std::optional<RowState> replay(const std::vector<Version>& versions, Timestamp at);

  std::map<std::uint64_t, TransactionReport> undecided_;
  std::map<RowName, std::vector<Version>> rows_;  // Oldest first.
  std::vector<std::pair<TransactionReport, Timestamp>> acknowledged_;
  std::vector<TransactionReport> refused_;
  std::vector<Timestamp> commits_;
  Timestamp newest_ = 0;         // Highest ever reported.
  Timestamp newest_before_ = 0;  // Before this round.
  std::uint64_t next_id_ = 1;
  TruthCounts counts_;
  std::vector<std::string> violations_;
};

}  // namespace moraine::crash
