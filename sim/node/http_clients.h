// HttpClients: all HTTP clients of the scenario, and what must hold once all faults have ended.
#pragma once

#include <memory>
#include <vector>

#include "sim/node/http_rows.h"
#include "sim/node/tree_lives.h"
#include "sim/node/tree_sharer.h"
#include "sim/node/tree_writer.h"

namespace moraine::sim {

class HttpClients {
 public:
  HttpClients(SimWorld& world, Machines& machines, History& history, HttpPlan plan);
  ~HttpClients() { *alive_ = false; }

  void start();
  void stop() { stage_.stopped = true; }
  std::size_t running() const { return scope_.live(); }

  // Every acknowledged change is there through this lane of the server, and what had to end by
  // itself is gone. False: something did not answer, or is not gone yet.
  Task<bool> check(std::size_t lane);
  // Once all clients have ended: what was read while others wrote.
  void judge() { watcher_.judge(); }

 private:
  std::vector<TreeWriter*> writers() const;
  void schedule_tick();

  HttpStage stage_;
  HttpLink link_;
  std::vector<std::unique_ptr<TreeWriter>> writers_;
  TreeWatcher watcher_;
  SharedNodes shared_;
  std::vector<std::unique_ptr<TreeSharer>> sharers_;
  TreeLeases leases_;
  TreeExpiry expiry_;
  Ledger ledger_;
  std::vector<std::unique_ptr<HttpTeller>> tellers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  TaskScope scope_;
};

}  // namespace moraine::sim
