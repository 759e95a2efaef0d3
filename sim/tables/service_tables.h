// ServiceTables: tables served by one node at a time, with everything that a node has for tables.
// They are resharded, altered, frozen and unmounted while clients use them.
//
// Promise    An acknowledged change of a table is permanent; any other shape is an immediate
//            failure. After all faults every table is mounted.
// Threading  Events of the scenario; the services run on their node.
#pragma once

#include <memory>
#include <vector>

#include "node/table_services.h"
#include "sim/tables/table_access.h"
#include "sim/tables/table_options.h"

namespace moraine::sim {

// One run of the services on a node.
struct ServingTables {
  ServingTables(World its_world, TableServices& its_services)
      : world(its_world), services(its_services) {}

  const World world;  // Of the control lane.
  TableServices& services;
  std::vector<Executor*> lanes;  // All lanes of the node. None: only the control lane.
  std::size_t calls = 0;         // Calls of the scenario in progress.
  bool ready = false;
  bool ending = false;
  std::shared_ptr<bool> over = std::make_shared<bool>(false);
};

class ServiceTables : public TableStage {
 public:
  ServiceTables(SimWorld& world, History& history, TableOptions options);

  void calm() override { calm_ = true; }
  void stop() override;
  std::string unsettled() const override;
  std::size_t booting() const override { return scope_.live(); }
  Task<bool> tidy() override;

  const TableOptions& options() const { return options_; }
  static std::string path_of(std::uint32_t table);
  // Null: not served.
  std::shared_ptr<const OpenTable> open(std::uint32_t table) const;
  // Runs a call on the serving node. The call may use the services until it has ended.
  template <class T>
  Task<Answer<T>> ask(std::function<Task<Result<T>>(ServingTables&)> call);

 protected:
  // The present run, which may have ended; null: none.
  virtual ServingTables* serving() const = 0;
  // Tables are created, and changed until calm(). Called once.
  void start_changes();
  // After calm(), now and then: mounts what is not mounted.
  void mount_again();
  bool is_calm() const { return calm_; }
  bool is_stopped() const { return stopped_; }

  SimWorld& world_;
  History& history_;
  const TableOptions options_;

 private:
  // The known shape of a table; nullopt: a change of unknown outcome.
  struct Shape {
    std::optional<std::vector<std::string>> pivots;
    std::optional<TableSchema> schema;
    std::size_t tablets_max = 0;  // After a reshard by count; 0: none.
    bool made = false;
    int alters = 0;
  };
  using Change = std::function<Task<Result<void>>(StoredTables&)>;

  template <class T>
  static Task<Result<T>> counted(ServingTables& run, Task<Result<T>> work);
  Task<void> change_tables(SeededRandom random);
  Task<bool> make(std::uint32_t table);
  Task<void> change_one(std::uint32_t table, SeededRandom& random);
  Task<void> reshard(std::uint32_t table, SeededRandom& random);
  Task<void> alter(std::uint32_t table, SeededRandom& random);
  Task<void> maintain(std::uint32_t table, SeededRandom& random);
  // Nullopt: unknown. False: refused.
  Task<std::optional<bool>> change(TableCommand command, Change body);
  Task<bool> mount(std::uint32_t table);
  Task<void> check_shape(std::uint32_t table);
  Task<void> mount_all();
  static Task<Result<TableRecord>> describe(ServingTables& run, std::string path);
  static Task<Result<void>> work_on(ServingTables& run, std::string path, bool compacts);

  bool calm_ = false;
  bool stopped_ = false;
  bool mounting_ = false;
  std::vector<Shape> shapes_;
  TaskScope scope_;
};

template <class T>
Task<Result<T>> ServiceTables::counted(ServingTables& run, Task<Result<T>> work) {
  Result<T> done = co_await std::move(work);
  --run.calls;
  co_return done;
}

template <class T>
Task<Answer<T>> ServiceTables::ask(std::function<Task<Result<T>>(ServingTables&)> call) {
  ServingTables* run = serving();
  if (!run || !run->ready || run->ending || *run->over) {
    co_return Result<T>(fail(Errc::kReadOnly, "no node serves tables"));
  }
  ++run->calls;
  std::function<Task<Result<T>>()> on_node = [run, call = std::move(call)] {
    return counted<T>(*run, call(*run));
  };
  co_return co_await ask_node<T>(world_, run->world.executor, run->over, std::move(on_node));
}

}  // namespace moraine::sim
