// RequestRouter: several services behind the one request handler of a node.
//
// Promise    A request goes to the port of its first byte, or to rest() when there is no such port.
//            Calls made through a port go to the underlying network. A request without a handler
//            gets an empty reply.
// Threading  The network's executor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "io/network.h"

namespace moraine {

class RequestRouter {
 public:
  // Becomes the handler of `network`, which outlives every call. Requests that are being served may
  // outlive the router.
  explicit RequestRouter(Network& network);
  ~RequestRouter();
  RequestRouter(const RequestRouter&) = delete;
  RequestRouter& operator=(const RequestRouter&) = delete;

  // For requests that begin with this byte. Ports live as long as the router.
  Network& port(std::uint8_t first_byte);
  Network& rest();

 private:
  class Port;
  struct State;
  static Task<Slice> answer(std::shared_ptr<State> state, NodeId from, Slice request);

  Network& network_;
  std::shared_ptr<State> state_;
};

}  // namespace moraine
