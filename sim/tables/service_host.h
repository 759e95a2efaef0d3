// ServiceHost: all tables served by one client node at a time, with everything that a node has for
// tables: the scheme, timestamps, a coordinator, tablets. Tables are resharded, altered, frozen and
// unmounted while clients use them.
//
// Promise    When the serving node has crashed, or was told to stop, another takes over. An
//            acknowledged change of a table is permanent; any other shape is an immediate failure.
//            After all faults every table is mounted.
// Threading  Events of the scenario; the services run on their node.
#pragma once

#include <memory>
#include <vector>

#include "node/table_services.h"
#include "sim/tables/table_access.h"
#include "sim/tables/table_options.h"

namespace moraine::sim {

class ServiceHost final : public TableStage {
 public:
  // One run of the services on a node.
  struct Life final : BlobGroups {
    Life(std::uint64_t its_number, std::size_t its_client, World its_world, blob::Proxy& its_proxy,
         const TableOptions& options);
    blob::Proxy* group(blob::GroupId) override { return &proxy; }

    const std::uint64_t number;
    const std::size_t client;
    const World world;
    blob::Proxy& proxy;
    SchemeHost scheme;
    TableServices services;
    std::size_t calls = 0;  // Calls of the scenario in progress.
    bool ready = false;
    bool ending = false;
    std::shared_ptr<bool> over = std::make_shared<bool>(false);
  };

  ServiceHost(SimWorld& world, Cluster& cluster, History& history, TableOptions options);
  ~ServiceHost() override { *alive_ = false; }

  void attach(std::size_t) override {}
  void calm() override { calm_ = true; }
  void stop() override;
  void move_all() override;
  std::string unsettled() const override;
  std::size_t booting() const override { return scope_.live(); }
  Task<bool> tidy() override;

  const TableOptions& options() const { return options_; }
  static std::string path_of(std::uint32_t table);
  // Null: not served.
  std::shared_ptr<const OpenTable> open(std::uint32_t table) const;
  // Runs a call on the serving node. The call may use its Life until it has ended.
  template <class T>
  Task<Answer<T>> ask(std::function<Task<Result<T>>(Life&)> call);

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
  static Task<Result<T>> counted(Life& life, Task<Result<T>> work);
  void tick();
  void schedule_tick();
  void begin_somewhere();
  static Task<void> start(Life& life);
  void end();
  Task<void> end_on_node(Life& life);

  // service_changes.cpp
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
  static Task<Result<TableRecord>> describe(Life& life, std::string path);
  static Task<Result<void>> work_on(Life& life, std::string path, bool compacts);

  SimWorld& world_;
  Cluster& cluster_;
  History& history_;
  const TableOptions options_;
  SeededRandom random_;
  bool calm_ = false;
  bool stopped_ = false;
  bool mounting_ = false;
  std::uint64_t lives_ = 0;
  std::unique_ptr<Life> life_;
  std::vector<Shape> shapes_;
  Instant next_jump_;
  TaskScope scope_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

template <class T>
Task<Result<T>> ServiceHost::counted(Life& life, Task<Result<T>> work) {
  Result<T> done = co_await std::move(work);
  --life.calls;
  co_return done;
}

template <class T>
Task<Answer<T>> ServiceHost::ask(std::function<Task<Result<T>>(Life&)> call) {
  Life* life = life_.get();
  if (!life || !life->ready || life->ending || *life->over) {
    co_return Result<T>(fail(Errc::kReadOnly, "no node serves tables"));
  }
  ++life->calls;
  std::function<Task<Result<T>>()> on_node = [life, call = std::move(call)] {
    return counted<T>(*life, call(*life));
  };
  co_return co_await ask_node<T>(world_, life->world.executor, life->over, std::move(on_node));
}

}  // namespace moraine::sim
