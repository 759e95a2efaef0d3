// NodeService: answers the requests of other nodes for the VDisks of this one.
//
// Promise    Every request gets a reply: invalid requests get kError with the reason, as does an
//            address where nothing runs.
// Threading  The network's executor.
// Limits     A reply over kFrameBytesMax becomes kError. The network and DiskServices bound the
//            number of requests in flight.
#pragma once

#include <memory>

#include "blob/endpoint/disk_services.h"
#include "io/network.h"

namespace moraine::blob {

class NodeService {
 public:
  // Becomes the handler of `network`. `executor` is the network's; all three outlive every request.
  NodeService(Network& network, Executor& executor, DiskServices& services);
  NodeService(const NodeService&) = delete;
  NodeService& operator=(const NodeService&) = delete;
  // The network keeps the handler; requests from now on get kError.
  ~NodeService();

 private:
  struct State;
  static Task<Slice> answer(std::shared_ptr<State> state, Slice frame);

  std::shared_ptr<State> state_;
};

}  // namespace moraine::blob
