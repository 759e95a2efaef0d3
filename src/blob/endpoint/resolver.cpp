#include "blob/endpoint/resolver.h"

#include "blob/endpoint/local_endpoint.h"
#include "blob/endpoint/remote_endpoint.h"

namespace moraine::blob {

std::shared_ptr<DiskEndpoint> NodeEndpoints::resolve(const DiskAddress& address) {
  if (const auto known = endpoints_.find(address); known != endpoints_.end()) return known->second;
  if (endpoints_.size() >= kEndpointsCachedMax) {
    std::erase_if(endpoints_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  std::shared_ptr<DiskEndpoint> endpoint = make(address);
  if (endpoints_.size() < kEndpointsCachedMax) endpoints_.emplace(address, endpoint);
  return endpoint;
}

std::shared_ptr<DiskEndpoint> NodeEndpoints::make(const DiskAddress& address) {
  if (address.node == network_.self()) {
    return std::make_shared<LocalEndpoint>(services_, address, executor_);
  }
  return std::make_shared<RemoteEndpoint>(network_, address);
}

}  // namespace moraine::blob
