// TableClients: transactions over the tables, from every node, and readers of all kinds.
//
// Promise    Everything that is sent, replied and seen is recorded in the model. Accounts keep
//            their sum: an audit that reads all of them at one timestamp and finds another sum is
//            an immediate failure.
// Threading  Events of the scenario.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/tables/table_access.h"
#include "sim/tables/table_options.h"

namespace moraine::sim {

class TableClients {
 public:
  TableClients(SimWorld& world, const TableOptions& options, TableAccess& access, TableModel& model,
               History& history);

  void start();
  // No new transactions; those of unknown outcome are polled until finish().
  void stop() { scope_.close(); }
  void finish() { resolving_.close(); }
  std::size_t running() const { return scope_.live(); }
  std::size_t resolving() const { return resolving_.live(); }

  // Reads every row at a new timestamp, and as last committed. False: something did not answer.
  Task<bool> read_everything();
  // Passes all versions that the tablets keep to the model.
  Task<bool> show_versions();
  // After all faults: which transactions conflict by lock groups and modes, and that a client can
  // immediately write again what it has just committed.
  Task<bool> check_locks();

 private:
  using Rows = std::vector<RowName>;
  using Seen = std::vector<std::pair<RowName, SeenRow>>;

  Task<void> open_accounts();
  Task<void> work(SeededRandom random);
  Task<void> resolve_unknowns();
  Task<void> transfer(SeededRandom& random);
  Task<void> change_registers(SeededRandom& random);
  Task<void> add_deltas(SeededRandom& random);
  Task<void> change_halves(SeededRandom& random);
  Task<void> read_some(SeededRandom& random);
  Task<void> audit(SeededRandom& random);
  Task<void> think(SeededRandom& random);
  Task<void> pause_randomly(SeededRandom& random);

  // nullopt: no timestamp was available.
  Task<std::optional<Timestamp>> draw();
  // How a transaction ended for its client.
  struct Ending {
    Fate fate = Fate::kUnknown;
    bool aborted = false;
    std::string why;
  };

  // nullopt: not all of them could be read.
  Task<std::optional<Seen>> read(Rows rows, Timestamp at, TableCommand command);
  Task<void> read_part(Rows rows, Timestamp at, std::optional<Seen>& out);
  Task<Ending> commit(ModelTransaction transaction, TableCommand command);
  Task<std::optional<std::vector<FoundVersion>>> look(RowName row);
  void check_total(const Seen& seen, Timestamp at);
  bool in_one_place(const std::vector<PlannedChange>& changes) const;
  Rows pick(RowSort sort, std::size_t count, SeededRandom& random) const;
  Timestamp some_past(SeededRandom& random) const;

  // lock_checks.cpp
  // Two transactions that overlap, one after the other. nullopt: something did not answer.
  Task<std::optional<bool>> both_commit(PlannedChange first, PlannedChange second);
  Task<bool> expect_both(PlannedChange first, PlannedChange second, bool both);
  Task<bool> rewrite();

  SimWorld& world_;
  TableAccess& access_;
  TableModel& model_;
  History& history_;
  const TableOptions options_;
  const TableLayout& layout_;
  SeededRandom random_;
  Timestamp opened_ = 0;  // Timestamp since which the accounts exist.
  std::deque<Timestamp> past_;
  TaskScope scope_;
  TaskScope resolving_;
};

}  // namespace moraine::sim
