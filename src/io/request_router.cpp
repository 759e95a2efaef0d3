#include "io/request_router.h"

namespace moraine {

class RequestRouter::Port final : public Network {
 public:
  explicit Port(Network& below) : below_(below) {}
  NodeId self() const override { return below_.self(); }
  Task<Result<Slice>> call(NodeId to, Slice request, Instant deadline) override {
    return below_.call(to, std::move(request), deadline);
  }
  void serve(RequestHandler handler) override {
    handler_ = handler ? std::make_shared<RequestHandler>(std::move(handler)) : nullptr;
  }
  const std::shared_ptr<RequestHandler>& handler() const { return handler_; }

 private:
  Network& below_;
  std::shared_ptr<RequestHandler> handler_;
};

struct RequestRouter::State {
  explicit State(Network& network) : rest(network) {}
  std::map<std::uint8_t, std::unique_ptr<Port>> ports;
  Port rest;
};

RequestRouter::RequestRouter(Network& network)
    : network_(network), state_(std::make_shared<State>(network)) {
  network.serve([state = state_](NodeId from, Slice request) {
    return answer(state, from, std::move(request));
  });
}

RequestRouter::~RequestRouter() {
  for (auto& [first, port] : state_->ports) port->serve(nullptr);
  state_->rest.serve(nullptr);
}

Network& RequestRouter::port(std::uint8_t first_byte) {
  std::unique_ptr<Port>& port = state_->ports[first_byte];
  if (!port) port = std::make_unique<Port>(network_);
  return *port;
}

Network& RequestRouter::rest() {
  return state_->rest;
}

Task<Slice> RequestRouter::answer(std::shared_ptr<State> state, NodeId from, Slice request) {
  const Port* port = &state->rest;
  if (!request.empty()) {
    const auto found = state->ports.find(static_cast<std::uint8_t>(request.data()[0]));
    if (found != state->ports.end()) port = found->second.get();
  }
  // The handler may be replaced while it runs.
  const std::shared_ptr<RequestHandler> handler = port->handler();
  if (!handler) co_return Slice();
  co_return co_await (*handler)(from, std::move(request));
}

}  // namespace moraine
