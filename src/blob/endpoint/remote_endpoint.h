// RemoteEndpoint: a VDisk of another node, over the network.
//
// Promise    Every call returns a reply. A VDisk's reply is passed on only when it matches its
//            request: kOk has the body of the request's kind, answers of a get name its queries.
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
