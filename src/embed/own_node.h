// OwnNode: a node inside this process, on threads of its own.
//
// Promise    open() returns a node whose tables and topics run, except tablets that failed to
//            start: these are retried, and calls of them fail meanwhile. The destructor stops it
//            cleanly.
// Errors     kNoSpace: not enough free space for what a start writes. kTimeout: the text says which
//            part of the system did not start.
// Threading  open() and the destructor: the thread that owns the object. The objects that `parts`
//            refers to are used on the control lane.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster/local/data_folder.h"
#include "embed/node_parts.h"
#include "io/real/real_lanes.h"
#include "moraine/database.h"
#include "node/node.h"

namespace moraine::embed {

class OwnNode {
 public:
  static Result<std::unique_ptr<OwnNode>> open(const std::string& folder,
                                               const OpenOptions& options);
  OwnNode(const OwnNode&) = delete;
  OwnNode& operator=(const OwnNode&) = delete;
  ~OwnNode();

  NodeParts parts();
  std::string lane_metrics() { return moraine::lane_metrics(lanes_); }

 private:
  OwnNode(DataFolder folder, bool fresh, const OpenOptions& options);
  Task<Result<void>> start();
  // Until the tables run: for as long as none of their tablets has failed to start.
  Task<Result<void>> start_tablets(Instant deadline);
  Task<Result<void>> start_once(Instant deadline);
  // Until the topics run, or a tablet of them has failed to start.
  Task<void> wait_topics(Instant deadline);
  Task<void> stop();

  const DataFolder folder_;
  RealLanes lanes_;
  Lane background_;
  std::unique_ptr<Node> node_;
};

}  // namespace moraine::embed
