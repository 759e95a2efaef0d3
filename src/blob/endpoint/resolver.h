// NodeEndpoints: the endpoints of all VDisks, for callers on one executor of a node.
//
// Promise    Addresses of this node resolve to LocalEndpoints, all others to RemoteEndpoints.
//            Nothing is contacted: calls to an address where nothing runs return kError.
// Threading  One executor, which is also the network's.
// Limits     kEndpointsCachedMax endpoints are kept; past it, unreferenced ones are dropped.
#pragma once

#include <map>

#include "blob/endpoint/disk_services.h"
#include "io/network.h"

namespace moraine::blob {

inline constexpr std::size_t kEndpointsCachedMax = 4'096;

class NodeEndpoints final : public EndpointResolver {
 public:
  // All three outlive every call to an endpoint.
  NodeEndpoints(Network& network, Executor& executor, DiskServices& services)
      : network_(network), executor_(executor), services_(services) {}

  std::shared_ptr<DiskEndpoint> resolve(const DiskAddress& address) override;

  std::size_t cached() const { return endpoints_.size(); }

 private:
  std::shared_ptr<DiskEndpoint> make(const DiskAddress& address);

  Network& network_;
  Executor& executor_;
  DiskServices& services_;
  std::map<DiskAddress, std::shared_ptr<DiskEndpoint>> endpoints_;
};

}  // namespace moraine::blob
