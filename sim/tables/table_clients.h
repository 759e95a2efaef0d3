// TableClients: transactions over the tables, from every node, and readers of all kinds.
//
// Promise    The model is told of everything that is sent, answered and seen. Accounts keep their
//            sum: an audit that reads all of them at one timestamp and finds another sum is a
//            failure at once.
// Threading  Events of the scenario; calls are made on the nodes.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/tables/table_hosts.h"
#include "sim/tables/table_model.h"

namespace moraine::sim {

class TableClients {
 public:
  TableClients(SimWorld& world, TableHosts& hosts, TableModel& model, History& history);

  void start();
  // No new transactions; those of unknown outcome are looked for until finish().
  void stop() { scope_.close(); }
  void finish() { resolving_.close(); }
  std::size_t running() const { return scope_.live(); }
  std::size_t resolving() const { return resolving_.live(); }

  // Reads every row at a fresh timestamp, and as last committed. False: something did not answer.
  Task<bool> read_everything();
  // Shows the model all that the tablets keep.
  Task<bool> show_versions();

 private:
  using Rows = std::vector<RowName>;
  using Seen = std::vector<std::pair<RowName, SeenRow>>;
  template <class T>
  using Reply = std::shared_ptr<OneShot<std::optional<Result<T>>>>;

  Task<void> open_accounts();
  Task<void> work(SeededRandom random);
  Task<void> resolve_unknowns();
  Task<void> transfer(SeededRandom& random);
  Task<void> change_registers(SeededRandom& random);
  Task<void> add_deltas(SeededRandom& random);
  Task<void> read_some(SeededRandom& random);
  Task<void> audit(SeededRandom& random);
  Task<void> think(SeededRandom& random);
  Task<void> dawdle(SeededRandom& random);

  // nullopt: no timestamp could be had.
  Task<std::optional<Timestamp>> draw();
  // nullopt: not all of them could be read.
  Task<std::optional<Seen>> read(Rows rows, Timestamp at, TableCommand command);
  Task<std::optional<Seen>> read_tablet(TabletId tablet, Rows rows, Timestamp at);
  Task<void> read_part(TabletId tablet, Rows rows, Timestamp at, std::optional<Seen>& out);
  Task<Fate> commit(ModelTransaction transaction, TableCommand command);
  Task<std::optional<std::vector<FoundVersion>>> look(RowName row);
  static Task<void> look_on_node(TableHosts::Hold running, RowName row,
                                 Reply<std::vector<FoundVersion>> reply);
  void check_total(const Seen& seen, Timestamp at);
  bool in_one_tablet(const std::vector<PlannedChange>& changes) const;
  std::vector<Participant> participants_of(const ModelTransaction& transaction) const;
  Rows pick(RowSort sort, std::size_t count, SeededRandom& random) const;
  Timestamp some_past(SeededRandom& random) const;

  // Runs a call on some node; nullopt: it took too long.
  template <class T>
  Task<std::optional<Result<T>>> ask(std::function<Task<Result<T>>(TableHosts::Session&)> call);
  template <class T>
  static Task<void> carry(Task<Result<T>> task, Reply<T> reply);

  SimWorld& world_;
  TableHosts& hosts_;
  TableModel& model_;
  History& history_;
  const TableOptions& options_;
  const TableLayout& layout_;
  SeededRandom random_;   // Which node asks, and how.
  Timestamp opened_ = 0;  // The accounts are there since.
  std::deque<Timestamp> past_;
  TaskScope scope_;
  TaskScope resolving_;
};

}  // namespace moraine::sim
