// FinalChecks: what must be true of a cluster once all faults have ended.
//
// Promise    Checks, one after another, that every member becomes ready and complete, that parts
//            are on their mains, that commands succeed, that every promised blob exists and every
//            doomed one is removed, and that any tolerated loss is survived. Stops at the first
//            failure.
#pragma once

#include <vector>

#include "sim/cluster.h"
#include "sim/model.h"

namespace moraine::sim {

class FinalChecks {
 public:
  FinalChecks(SimWorld& world, Cluster& cluster, Model& model, History& history)
      : world_(world), cluster_(cluster), model_(model), history_(history) {}

  void check();

 private:
  void settle();
  // Every command succeeds now.
  void commands_succeed();
  void block_and_put(blob::TabletId tablet);
  void collect_everything();
  void promised_exist(const char* when);
  void doomed_are_removed();
  bool doomed_on_disks(std::string& where);
  void space_adds_up();
  // Stops tolerated sets of members and reads.
  void losses_are_survived();
  void survive(blob::DiskSet lost, std::uint32_t round);
  std::vector<blob::DiskSet> some_losses();
  void expect_ok(blob::Status status, const std::string& reason, const std::string& what);
  blob::GetResult read(std::vector<blob::BlobId> ids, bool must_restore);

  SimWorld& world_;
  Cluster& cluster_;
  Model& model_;
  History& history_;
  blob::Generation generation_ = 0;  // Of the incarnation that runs the checks.
  std::uint32_t counter_ = 1;
};

}  // namespace moraine::sim
