// RemoteEndpoint: a VDisk of another node, over the network.
//
// Promise    A reply always comes. One that is passed on fits its request: kOk has the body of the
//            request's kind, and answers of a get name queries that were asked.
// Threading  The network's executor.
// Errors     kDeadline: the deadline passed. kError: not reached, lost, or not understood.
#pragma once

#include "blob/protocol.h"
#include "io/network.h"

namespace moraine::blob {

class RemoteEndpoint final : public DiskEndpoint {
 public:
  // `network` outlives every call.
  RemoteEndpoint(Network& network, const DiskAddress& address)
      : network_(network), address_(address) {}

  Task<DiskReply> call(DiskRequest request, Instant deadline) override;

 private:
  Network& network_;
  const DiskAddress address_;
};

}  // namespace moraine::blob
