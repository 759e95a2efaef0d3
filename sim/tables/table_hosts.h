// TableHosts: tablets of tables, coordinators and the timestamp oracle on the client nodes of a
// cluster, started at random on several at once, stopped, flushed and compacted.
//
// Promise    Every tablet has a leader again soon after it lost one, and sometimes several race to
//            lead it. Nodes reach each other's tablets over the network.
// Threading  Incarnations run on their node; the rest are events of the scenario.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "sim/cluster.h"
#include "sim/history.h"
#include "sim/tables/table_access.h"
#include "sim/tables/table_options.h"
#include "transaction/remote_tablets.h"
#include "transaction/tablet_server.h"

namespace moraine::sim {

class TableHosts final : public TableStage {
 public:
  // One incarnation of something.
  struct Running {
    TabletId id;
    std::size_t client = 0;
    std::shared_ptr<table::TableTablet> table;
    std::shared_ptr<Coordinator> coordinator;
    std::shared_ptr<TimestampOracle> oracle;
    std::size_t uses = 0;  // By the scenario.
    bool over = false;

    const void* object() const;
    void abandon();
    Task<void> stop();
    void on_end(Callback hook);
  };
  using Hold = std::shared_ptr<Running>;

  // One run of one node.
  struct Session final : BlobGroups {
    Session(TableHosts& hosts, std::size_t which, World its_world, blob::Proxy& its_proxy,
            Network& port);
    blob::Proxy* group(blob::GroupId) override { return &proxy; }

    const std::size_t client;
    const World world;
    blob::Proxy& proxy;
    table::BlockCache blocks;
    table::SlabMemory row_cache;
    RemoteTablets tablets;
    RemoteTimestamps timestamps;
    table::TableResources resources;
    std::list<Hold> running;
    TabletServer server;
    TaskScope scope;
    std::shared_ptr<bool> over = std::make_shared<bool>(false);
  };

  TableHosts(SimWorld& world, Cluster& cluster, History& history, TableOptions options);
  ~TableHosts() override { *alive_ = false; }

  // A node that has just been started may get tablets.
  void attach(std::size_t client) override;
  // No more races, ends and jumps: only starts leaders where there are none.
  void calm() override { calm_ = true; }
  // Nothing is started after this.
  void stop() override { stopped_ = true; }
  Task<bool> tidy() override { co_return true; }
  // Ends every incarnation cleanly; others start elsewhere.
  void move_all() override;

  // Every tablet has a leader, and coordinators have delivered all outcomes.
  std::string unsettled() const override;
  std::size_t booting() const override;
  // Null: no node is running.
  Session* some_session(SeededRandom& random);
  // The newest running one; null: none.
  Hold newest(TabletId id) const;
  Session& session(std::size_t client) { return *sessions_.at(client); }
  const TableOptions& options() const { return options_; }
  // Work of the scenario on a tablet, on its node.
  void use(const Hold& running, std::function<Task<void>(Hold)> work);

 private:
  std::optional<NodeId> locate(TabletId id);
  void tick();
  void schedule_tick();
  void trouble(TabletId id);
  void maintain(const Hold& running);
  void boot_somewhere(TabletId id);
  Task<void> boot(Session& session, TabletId id);
  Task<Result<Hold>> begin(Session& session, TabletId id);
  Task<Result<void>> publish(Session& session, Hold running);
  Task<void> retire(Session& session, Hold running);
  static Task<void> run_use(Hold running, Task<void> work);
  static Task<void> flush(Hold running);
  static Task<void> compact(Hold running);
  void forget(const Hold& running);
  table::TabletSettings settings_of(TabletId id) const;
  static LeaderOptions leader_options();

  SimWorld& world_;
  Cluster& cluster_;
  History& history_;
  const TableOptions options_;
  SeededRandom random_;
  SeededRandom locate_random_;
  bool calm_ = false;
  bool stopped_ = false;
  std::map<TabletId, std::size_t> booting_;
  std::map<TabletId, std::vector<Hold>> served_;  // Oldest first.
  std::map<std::size_t, std::unique_ptr<Session>> sessions_;
  Instant next_race_;
  Instant next_maintenance_;
  Instant next_jump_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
