// Network: request and reply between nodes.
//
// Promise    call() returns the peer's reply, or an error that says the outcome is unknown
//            (kTimeout, kUnavailable) or that nothing was sent (kOverloaded). A request may be
//            delivered twice: handlers are idempotent. Requests are not ordered.
// Threading  As every component: the caller's executor.
// Limits     kFrameBytesMax per request or reply; at most kCallsInFlightMax calls and
//            kBytesInFlightMax request bytes per peer, past which call() fails with kOverloaded.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "io/executor.h"
#include "io/task.h"

namespace moraine {

struct NodeId {
  std::uint32_t value = 0;
  auto operator<=>(const NodeId&) const = default;
};

inline constexpr std::size_t kFrameBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kCallsInFlightMax = 4096;
inline constexpr std::size_t kBytesInFlightMax = std::size_t{128} << 20;

// Serves one request of `from`. Runs on the serving node's executor.
using RequestHandler = std::move_only_function<Task<Slice>(NodeId from, Slice request)>;

class Network {
 public:
  virtual ~Network() = default;
  virtual NodeId self() const = 0;
  virtual Task<Result<Slice>> call(NodeId to, Slice request, Instant deadline) = 0;
  // Installs the one handler of this node; requests before that fail with kUnavailable.
  virtual void serve(RequestHandler handler) = 0;
};

}  // namespace moraine
