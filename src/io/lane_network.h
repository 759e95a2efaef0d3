// LaneNetwork: the network of a node for its other lanes: calls are made on the network's own lane.
//
// Promise    As Network. Requests of other nodes are served on the network's own lane only.
// Threading  `home`.
#pragma once

#include "io/network.h"

namespace moraine {

class LaneNetwork final : public Network {
 public:
  // `network` is used on `owner`; all three outlive every call.
  LaneNetwork(Network& network, Executor& owner, Executor& home)
      : network_(network), owner_(owner), home_(home), self_(network.self()) {}

  NodeId self() const override { return self_; }
  Task<Result<Slice>> call(NodeId to, Slice request, Instant deadline) override;
  // Fails always: handlers are installed on the network's own lane.
  void serve(RequestHandler handler) override;

 private:
  Network& network_;
  Executor& owner_;
  Executor& home_;
  const NodeId self_;
};

}  // namespace moraine
