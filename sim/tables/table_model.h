// TableModel: what transactions over tables were promised, and what readers saw.
//
// Transactions and reads are recorded as they happen. Once all faults have ended the versions that
// the tablets keep show which of the transactions with an unknown outcome were committed, and when;
// then everything that was seen must agree with one history.
//
// Promise    Reports to the history: a timestamp that is not above one issued before; an
//            acknowledged change that is lost; a transaction that is applied in part; a change of a
//            refused one; a read that shows anything else than what was committed up to its
//            timestamp, or, for last committed reads, less than what was acknowledged before; two
//            overlapping committed transactions that conflict; cycles (dependency_graph.h).
// Threading  The thread of the simulation.
// Limits     Rows whose old versions may have been dropped by retention are not judged while a
//            transaction of unknown outcome that touches them is not resolved.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/history.h"
#include "sim/tables/dependency_graph.h"
#include "sim/tables/table_rows.h"

namespace moraine::sim {

enum class Fate : std::uint8_t { kUnknown, kRefused, kCommitted };

struct ModelTransaction {
  std::uint64_t number = 0;
  Timestamp start = 0;
  bool locks_reads = false;
  std::vector<PlannedChange> changes;
  std::vector<std::pair<RowName, SeenRow>> reads;  // At the start.
  Instant sent;
  Fate fate = Fate::kUnknown;
  Timestamp commit = 0;
  Instant acknowledged = Instant::never();
};

struct ModelRead {
  RowName row;
  Timestamp at = 0;  // Or last committed.
  Instant began;
  SeenRow seen;
};

class TableModel {
 public:
  // `versions_stay`: how long retention keeps every version; nullopt: as long as the run.
  TableModel(History& history, std::optional<Duration> versions_stay)
      : history_(history), keeps_all_(!versions_stay), versions_stay_(versions_stay) {}

  // A timestamp that is requested now must be above this.
  Timestamp floor() const { return floor_; }
  // One was issued; `floor` is the floor at the time of the request.
  void drawn(Timestamp given, Timestamp floor);

  // Called before it is sent.
  void sent(ModelTransaction transaction);
  void refused(std::uint64_t number);
  // Its outcome is unknown. It is polled while its versions cannot have been dropped, from the time
  // when it was sent on.
  void unknown(std::uint64_t number);
  void committed(std::uint64_t number, Timestamp commit, Timestamp floor);
  void seen(ModelRead read);
  std::uint64_t next_number() { return ++numbers_; }
  const ModelTransaction* find(std::uint64_t number) const;

  // Transactions to poll for, and the row that identifies them.
  std::vector<std::pair<std::uint64_t, RowName>> wanted() const;
  // The versions of the row that a tablet has now.
  void looked(std::uint64_t number, const RowName& row, const std::vector<FoundVersion>& versions);

  // All versions that a tablet keeps of a row, once nothing is in progress.
  void found(const RowName& row, const std::vector<FoundVersion>& versions);
  // Checks everything.
  void judge();
  std::uint64_t reads_checked() const { return reads_checked_; }

 private:
  struct Version {
    Timestamp at = 0;
    const ModelTransaction* by = nullptr;
    const PlannedChange* change = nullptr;
  };
  using Versions = std::vector<Version>;  // By their timestamps.

  ModelTransaction* writer_of(const RowName& row, const FoundVersion& version);
  void resolve(const RowName& row, ModelTransaction& transaction, Timestamp at);
  void resolve_deletes();
  void check_kept();
  void line_up();
  void check_overlaps();
  void check_pair(const RowName& row, const Version& first, const Version& second);
  void check_read_lock(const ModelTransaction& reader, const PlannedChange& lock);
  void check_read_locks();
  void check_reads();
  void check_read(const ModelRead& read);
  void check_last_committed(const ModelRead& read, const Versions& versions);
  void check_cycles();
  static SeenRow state(const Versions& versions, std::size_t count);
  static std::size_t count_at(const Versions& versions, Timestamp at);
  // Counts versions that change one of these halves.
  static std::size_t count_at(const Versions& versions, Timestamp at, Halves halves);
  void add_read(CommittedTransaction& to, const RowName& row, const SeenRow& seen_then,
                Timestamp start);
  void add_write(CommittedTransaction& to, const PlannedChange& change, Timestamp commit);
  bool is_open(const RowName& row) const { return open_.contains(row); }

  History& history_;
  const bool keeps_all_;
  const std::optional<Duration> versions_stay_;
  Timestamp floor_ = 0;
  std::uint64_t numbers_ = 0;
  std::map<std::uint64_t, ModelTransaction> transactions_;
  std::vector<ModelRead> reads_;
  std::map<std::uint64_t, Instant> wanted_;  // When they were last polled.
  std::map<RowName, std::vector<FoundVersion>> found_;
  std::map<RowName, Versions> rows_;
  std::set<RowName> open_;  // Touched by transactions whose outcome stays unknown.
  std::uint64_t reads_checked_ = 0;
};

}  // namespace moraine::sim
