#include "io/real/tcp_network.h"

#include <fmt/format.h>

#include <utility>

#include "base/invariant.h"
#include "io/real/frame.h"
#include "io/real/tcp_peer.h"
#include "io/real/tcp_server.h"
#include "io/sync.h"

namespace moraine {

// Shared by the caller, which may return at the deadline, and the handler's task.
struct TcpNetwork::SelfCall {
  OneShot<Result<Slice>> reply;
};

TcpNetwork::TcpNetwork(Lane& lane, TcpNetworkOptions options)
    : lane_(lane),
      self_(options.self),
      cluster_(std::move(options.cluster)),
      tasks_(std::make_unique<TaskScope>()),
      server_(std::make_unique<TcpServer>(lane, *tasks_, self_, cluster_)) {
  INVARIANT(cluster_.size() <= kClusterBytesMax, "cluster name of {} bytes", cluster_.size());
  for (auto& [node, address] : options.peers) set_peer(node, std::move(address));
}

TcpNetwork::~TcpNetwork() {
  close();
}

Result<void> TcpNetwork::listen(const TcpAddress& address) {
  return server_->listen(address);
}

std::uint16_t TcpNetwork::port() const {
  return server_->port();
}

void TcpNetwork::set_peer(NodeId node, TcpAddress address) {
  if (node == self_) return;
  std::unique_ptr<TcpPeer>& peer = peers_[node];
  if (peer) {
    peer->set_address(std::move(address));
    return;
  }
  Hello hello{self_, node, cluster_};
  peer = std::make_unique<TcpPeer>(lane_, *tasks_, std::move(hello), std::move(address));
}

std::map<NodeId, PeerState> TcpNetwork::peers() const {
  std::map<NodeId, PeerState> states;
  for (const auto& [node, peer] : peers_) states.emplace(node, peer->state());
  return states;
}

void TcpNetwork::serve(RequestHandler handler) {
  server_->serve(std::move(handler));
}

Task<Result<Slice>> TcpNetwork::call(NodeId to, Slice request, Instant deadline) {
  INVARIANT(lane_.on_this_thread(), "node {} is called from another thread", self_.value);
  if (stopped_) co_return fail(Errc::kUnavailable, "this node is stopping");
  if (to == self_) co_return co_await call_self(std::move(request), deadline);
  const auto peer = peers_.find(to);
  if (peer == peers_.end()) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("node {} is not in the config of this node", to.value));
  }
  co_return co_await peer->second->call(std::move(request), deadline);
}

Task<Result<Slice>> TcpNetwork::call_self(Slice request, Instant deadline) {
  std::shared_ptr<RequestHandler> handler = server_->handler();
  if (!handler) co_return fail(Errc::kUnavailable, "this node serves no requests");
  if (request.size() > kFrameBytesMax) {
    co_return fail(Errc::kInvalidArgument, fmt::format("a request of {} bytes, at most {}",
                                                       request.size(), kFrameBytesMax));
  }
  if (self_calls_ >= kCallsInFlightMax || self_bytes_ + request.size() > kBytesInFlightMax) {
    co_return fail(Errc::kOverloaded, fmt::format("this node: {} calls with {} bytes are in flight",
                                                  self_calls_, self_bytes_));
  }
  auto call = std::make_shared<SelfCall>();
  tasks_->spawn(serve_self(call, std::move(handler), std::move(request)));
  if (call->reply.ready() || deadline == Instant::never()) co_return co_await call->reply;
  const TimerId timer = lane_.schedule(deadline, [call] {
    call->reply.set(fail(Errc::kTimeout, "this node: no reply before the deadline"));
  });
  Result<Slice> reply = co_await call->reply;
  lane_.cancel(timer);
  co_return reply;
}

Task<void> TcpNetwork::serve_self(std::shared_ptr<SelfCall> call,
                                  std::shared_ptr<RequestHandler> handler, Slice request) {
  const std::size_t bytes = request.size();
  ++self_calls_;
  self_bytes_ += bytes;
  Slice reply = co_await (*handler)(self_, std::move(request));
  --self_calls_;
  self_bytes_ -= bytes;
  if (reply.size() > kFrameBytesMax) {
    call->reply.set(fail(Errc::kInvalidArgument, fmt::format("a reply of {} bytes, at most {}",
                                                             reply.size(), kFrameBytesMax)));
  } else {
    call->reply.set(std::move(reply));
  }
}

void TcpNetwork::close() {
  stopped_ = true;
  server_->close();
  const Error why{Errc::kUnavailable, "this node is stopping"};
  for (const auto& [node, peer] : peers_) peer->close(why);
}

Task<void> TcpNetwork::stop() {
  close();
  co_await tasks_->join();
}

}  // namespace moraine
