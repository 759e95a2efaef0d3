// ServiceHost: all tables served by one client node at a time: the scheme, timestamps, a
// coordinator, tablets.
//
// Promise    As ServiceTables. When the serving node has crashed, or was stopped, another takes
//            over.
// Threading  Events of the scenario; the services run on their node.
#pragma once

#include <memory>

#include "sim/tables/service_tables.h"

namespace moraine::sim {

class ServiceHost final : public ServiceTables {
 public:
  ServiceHost(SimWorld& world, Cluster& cluster, History& history, TableOptions options);
  ~ServiceHost() override { *alive_ = false; }

  void attach(std::size_t) override {}
  void move_all() override;

 protected:
  ServingTables* serving() const override;

 private:
  // One run of the services on a node.
  struct Life final : ServingTables, BlobGroups {
    Life(std::uint64_t its_number, std::size_t its_client, World its_world, blob::Proxy& its_proxy,
         const TableOptions& options);
    blob::Proxy* group(blob::GroupId) override { return &proxy; }

    const std::uint64_t number;
    const std::size_t client;
    blob::Proxy& proxy;
    SchemeHost scheme;
    TableServices table_services;
  };

  void tick();
  void schedule_tick();
  void begin_somewhere();
  static Task<void> start(Life& life);
  void end();
  Task<void> end_on_node(Life& life);

  Cluster& cluster_;
  SeededRandom random_;
  std::uint64_t lives_ = 0;
  std::unique_ptr<Life> life_;
  Instant next_jump_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
