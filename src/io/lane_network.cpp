#include "io/lane_network.h"

#include "base/invariant.h"
#include "io/sync.h"

namespace moraine {

Task<Result<Slice>> LaneNetwork::call(NodeId to, Slice request, Instant deadline) {
  co_await hop(owner_);
  Result<Slice> reply = co_await network_.call(to, std::move(request), deadline);
  co_await hop(home_);
  co_return reply;
}

void LaneNetwork::serve(RequestHandler) {
  INVARIANT(false, "requests of node {} are served on the network's own lane", self_.value);
}

}  // namespace moraine
