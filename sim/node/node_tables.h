// NodeTables: the tables of the machine that serves.
#pragma once

#include "sim/node/machines.h"

namespace moraine::sim {

class NodeTables final : public ServiceTables {
 public:
  NodeTables(SimWorld& world, Machines& machines, History& history, TableOptions options);
  ~NodeTables() override { *alive_ = false; }

  void attach(std::size_t) override {}
  // The process that serves ends; another takes over.
  void move_all() override;

 protected:
  ServingTables* serving() const override { return machines_.tables(); }

 private:
  void schedule_tick();

  Machines& machines_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::sim
