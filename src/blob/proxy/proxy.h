// Proxy: all commands of one group, for the clients of one node.
//
// Promise    A command ends by its deadline (30 s when it has none), with kOk only when its effect
//            survives every tolerated set of failures. A change of the group's membership is
//            handled here: no client sees kRace. Invalid requests return kError with the reason.
// Invariants Commands are not ordered: a caller that needs an order waits for each result.
// Threading  The executor of the World that it was made with.
// Limits     context.h and requests.h; past them kError with "overloaded".
// Tests      proxy_*_test.cpp
#pragma once

#include <memory>

#include "blob/group/config.h"
#include "blob/protocol.h"
#include "blob/proxy/requests.h"
#include "io/task.h"
#include "io/world.h"

namespace moraine::blob {

class ProxyContext;

class Proxy {
 public:
  // `resolver` outlives the proxy. Requires: check(config).
  Proxy(World world, GroupConfig config, EndpointResolver& resolver, ProxyOptions options = {});
  // Requires: stop() has completed, or no command was ever started.
  ~Proxy();

  // kOk, kBlocked, kOutOfSpace, kDeadline, kNoGroup, or kError: it may still become visible.
  Task<PutResult> put(PutRequest request);
  Task<GetResult> get(GetRequest request);
  // kOk: a quorum stored the block of this issuer. kAlready: this generation is already blocked by
  // another issuer, or a higher one is.
  Task<BlockResult> block(BlockRequest request);
  Task<GetBlockResult> blocked_generation(GetBlockRequest request);
  Task<CollectResult> collect(CollectRequest request);
  // Without must_restore and with index_only: every id seen, confirmed or not.
  Task<RangeResult> range(RangeRequest request);
  Task<DiscoverResult> discover(DiscoverRequest request);
  Task<StatusResult> status(StatusRequest request);

  const GroupConfig& config() const;
  // Does nothing unless the generation of `newer` is above the current one.
  void reconfigure(GroupConfig newer);
  // Refuses new commands and waits for all that is in flight. Called once.
  Task<void> stop();

 private:
  std::unique_ptr<ProxyContext> context_;
};

}  // namespace moraine::blob
