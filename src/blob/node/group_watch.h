// GroupWatch: polls the health of the groups that have a member on this node.
//
// Promise    Every period the state of each disk of these groups is requested. A change of a
//            group's condition is logged once, when two reports in a row agree on it.
// Threading  The world's executor. stop() completes before destruction, and before the node stops.
// Limits     One request in flight to each disk.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "blob/group/redundancy.h"
#include "blob/node/blob_node.h"
#include "io/event.h"
#include "io/world.h"

namespace moraine::blob {

struct GroupWatchOptions {
  Duration period = 2s;
  Duration answer_within = 3s;  // A disk that does not answer for longer counts as unreachable.
};

struct GroupReport {
  GroupConfig config;
  StatusResult status;
  Redundancy redundancy;
  Instant asked;  // When the requests were sent.

  // Blobs that disks of the group still have to replicate, summed over the disks.
  std::uint64_t missing() const;
};

// From the disks' reported states.
Redundancy redundancy_of(const GroupConfig& config, const StatusResult& status);

// One of: "ready", "replicating", "recovering", "broken", "unreachable", "silent".
std::string_view state_word(const DiskState& disk);

// "vdisk [82000000:1:0:2:0] on node 3 device 1 is unreachable: ..." for each disk that is not
// whole.
std::vector<std::string> troubles(const GroupConfig& config, const StatusResult& status);

class GroupWatch {
 public:
  GroupWatch(World world, BlobNode& node, GroupWatchOptions options = {});
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  void start() { tasks_.spawn(run()); }
  // Waits for the answers in flight: at most answer_within.
  Task<void> stop();

  // As of the last answers.
  const std::map<GroupId, GroupReport>& groups() const { return reports_; }

 private:
  // What was last logged about a group, and the last report.
  struct History {
    std::optional<Redundancy> logged;
    std::optional<Redundancy> seen;
  };
  Task<void> run();
  Task<void> ask(GroupId group);
  void note(const GroupReport& report);
  static void log(const GroupReport& report, bool better);

  World world_;
  BlobNode& node_;
  const GroupWatchOptions options_;
  std::map<GroupId, GroupReport> reports_;
  std::map<GroupId, History> histories_;
  TaskScope tasks_;
};

}  // namespace moraine::blob
