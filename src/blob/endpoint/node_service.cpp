#include "blob/endpoint/node_service.h"

#include <fmt/format.h>

#include "blob/endpoint/envelope.h"
#include "blob/endpoint/replies.h"
#include "blob/protocol_codec.h"

namespace moraine::blob {
namespace {

Slice seal_reply(const DiskAddress& address, const DiskReply& reply) {
  Slice frame = seal(address, encode_pieces(reply));
  if (frame.size() <= kFrameBytesMax) return frame;
  const DiskReply error = error_reply(
      fmt::format("the reply has {} bytes, over the maximum {}", frame.size(), kFrameBytesMax));
  return seal(address, encode_pieces(error));
}

}  // namespace

struct NodeService::State {
  const NodeId self;
  Executor& executor;
  DiskServices& services;
  bool stopped = false;
};

NodeService::NodeService(Network& network, Executor& executor, DiskServices& services)
    : state_(std::make_shared<State>(network.self(), executor, services)) {
  network.serve([state = state_](NodeId, Slice frame) { return answer(state, std::move(frame)); });
}

NodeService::~NodeService() {
  state_->stopped = true;
}

Task<Slice> NodeService::answer(std::shared_ptr<State> state, Slice frame) {
  DiskAddress address{state->self, 0, 0};
  Result<Envelope> envelope = open_envelope(frame);
  frame = {};
  if (!envelope) co_return seal_reply(address, error_reply(envelope.error().message()));
  address.device = envelope->device;
  address.slot = envelope->slot;
  if (state->stopped) {
    co_return seal_reply(address, error_reply(fmt::format("node {}: stopped", state->self.value)));
  }
  Result<DiskRequest> request = decode_request(envelope->content);
  envelope->content = {};
  if (!request) co_return seal_reply(address, error_reply(request.error().message()));
  // The calling node enforces its deadline; here a request runs to its end.
  const DiskReply reply = co_await state->services.call(address, std::move(*request),
                                                        state->executor, Instant::never());
  co_return seal_reply(address, reply);
}

}  // namespace moraine::blob
