#include "blob/endpoint/local_endpoint.h"

namespace moraine::blob {

// Not a coroutine itself: the task does not need this endpoint any more.
Task<DiskReply> LocalEndpoint::call(DiskRequest request, Instant deadline) {
  return services_.call(address_, std::move(request), home_, deadline);
}

}  // namespace moraine::blob
