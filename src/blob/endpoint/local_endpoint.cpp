#include "blob/endpoint/local_endpoint.h"

namespace moraine::blob {

// Not a coroutine itself, so that the task does not refer to this endpoint.
Task<DiskReply> LocalEndpoint::call(DiskRequest request, Instant deadline) {
  return services_.call(address_, std::move(request), home_, deadline);
}

}  // namespace moraine::blob
