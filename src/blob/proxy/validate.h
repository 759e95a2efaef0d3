// Validation of requests, before any disk is called.
//
// Errors     kInvalidArgument, with the reason for the caller.
#pragma once

#include "base/result.h"
#include "blob/proxy/requests.h"

namespace moraine::blob {

Result<void> check_request(const PutRequest& request);
Result<void> check_request(const GetRequest& request);
Result<void> check_request(const BlockRequest& request);
Result<void> check_request(const GetBlockRequest& request);
Result<void> check_request(const CollectRequest& request);
Result<void> check_request(const RangeRequest& request);
Result<void> check_request(const DiscoverRequest& request);
Result<void> check_request(const StatusRequest& request);
// With the limits in the options of this proxy.
template <class Request>
Result<void> check_request(const Request& request, const ProxyOptions&) {
  return check_request(request);
}
Result<void> check_request(const CollectRequest& request, const ProxyOptions& options);

}  // namespace moraine::blob
