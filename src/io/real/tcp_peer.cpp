#include "io/real/tcp_peer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/log.h"

namespace moraine {

TcpPeer::TcpPeer(Lane& lane, TaskScope& tasks, Hello hello, TcpAddress address)
    : lane_(lane), tasks_(tasks), hello_(std::move(hello)), address_(std::move(address)) {}

TcpPeer::~TcpPeer() {
  close({Errc::kUnavailable, "this node is stopping"});
}

std::string TcpPeer::name() const {
  return fmt::format("node {} at {}", hello_.peer.value, to_string(address_));
}

Task<Result<Slice>> TcpPeer::call(Slice request, Instant deadline) {
  was_called_ = true;
  CO_TRY_VOID(admit(request.size(), deadline));
  CO_TRY_VOID(ensure_connection());
  const std::uint64_t id = next_request_++;
  Call call;
  call.bytes = request.size();
  calls_.emplace(id, &call);
  bytes_in_flight_ += call.bytes;
  if (deadline != Instant::never()) {
    call.timer = lane_.schedule(deadline, [this, id] { expire(id); });
  }
  if (ready_) {
    connection_->send(FrameKind::kRequest, id, std::move(request));
  } else {
    waiting_.emplace_back(id, std::move(request));
  }
  co_return co_await call.reply;
}

Result<void> TcpPeer::admit(std::size_t bytes, Instant deadline) const {
  if (bytes > kFrameBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: a request of {} bytes, at most {}", name(),
                                                    bytes, kFrameBytesMax));
  }
  if (calls_.size() >= kCallsInFlightMax || bytes_in_flight_ + bytes > kBytesInFlightMax) {
    return fail(Errc::kOverloaded, fmt::format("{}: {} calls with {} bytes are in flight", name(),
                                               calls_.size(), bytes_in_flight_));
  }
  if (deadline <= lane_.now()) {
    return fail(Errc::kTimeout, fmt::format("{}: the deadline has passed", name()));
  }
  return {};
}

Result<void> TcpPeer::ensure_connection() {
  if (connection_) return {};
  if (lane_.now() < retry_at_) {
    return fail(Errc::kUnavailable, fmt::format("{}: {}", name(), last_failure_));
  }
  auto connection = std::make_shared<TcpConnection>(lane_, *this);
  connection_ = connection;
  connection->send(FrameKind::kHello, 0, encode_hello(hello_));
  greeting_timer_ = lane_.schedule(lane_.now() + kGreetingTimeout, [this] {
    greeting_timer_ = {};
    connection_->close({Errc::kUnavailable, "no hello from the peer in time"});
  });
  tasks_.spawn(connect(connection));
  if (!connection->closed()) return {};
  return fail(Errc::kUnavailable, fmt::format("{}: {}", name(), last_failure_));
}

Task<void> TcpPeer::connect(std::shared_ptr<TcpConnection> connection) {
  const std::uint64_t attempt = attempts_++;
  Result<std::vector<SocketAddress>> addresses = co_await resolve(lane_, address_);
  // When the connection is closed, this peer may have been destroyed.
  if (connection->closed()) co_return;
  if (!addresses) {
    connection->close(addresses.error());
    co_return;
  }
  const Result<int> socket = open_connection((*addresses)[attempt % addresses->size()]);
  if (!socket) {
    connection->close(socket.error());
    co_return;
  }
  connection->attach(*socket);
}

void TcpPeer::on_frame(Frame frame) {
  if (frame.kind == FrameKind::kClose) {
    const Error why{Errc::kUnavailable, fmt::format("refused: {}", frame.payload.text())};
    connection_->close(why);
  } else if (!ready_) {
    if (frame.kind == FrameKind::kHello) {
      greeted(frame.payload);
    } else {
      connection_->reject({Errc::kCorrupt, "a frame before the hello"});
    }
  } else if (frame.kind == FrameKind::kReply) {
    complete(frame.request, std::move(frame.payload));
  } else if (frame.kind == FrameKind::kRefusal) {
    Result<Error> refusal = decode_refusal(frame.payload);
    if (refusal) {
      complete(frame.request, std::unexpected(std::move(*refusal).within(name())));
    } else {
      connection_->reject(refusal.error());
    }
  } else {
    const std::string_view kind = to_string(frame.kind);
    connection_->reject({Errc::kCorrupt, fmt::format("an unexpected {} frame", kind)});
  }
}

void TcpPeer::greeted(ByteSpan payload) {
  const Result<Hello> hello = decode_hello(payload);
  if (!hello) {
    connection_->reject(hello.error());
    return;
  }
  if (hello->cluster != hello_.cluster || hello->node != hello_.peer) {
    connection_->reject(
        {Errc::kUnavailable,
         fmt::format("node {} of cluster '{}' answered, expected node {} of '{}'",
                     hello->node.value, hello->cluster, hello_.peer.value, hello_.cluster)});
    return;
  }
  ready_ = true;
  backoff_ = Duration::zero();
  lane_.cancel(std::exchange(greeting_timer_, {}));
  connection_->trust();
  const bool was_down = std::exchange(down_, false);
  if (was_down) {
    const auto away =
        std::chrono::duration_cast<std::chrono::milliseconds>(lane_.now() - down_since_);
    log_info("peer up", {{"peer", name()}, {"down_ms", away.count()}});
  } else {
    log_info("peer up", {{"peer", name()}});
  }
  for (auto& [id, request] : std::exchange(waiting_, {})) {
    connection_->send(FrameKind::kRequest, id, std::move(request));
  }
}

void TcpPeer::on_closed(const Error& why) {
  connection_.reset();
  waiting_.clear();
  lane_.cancel(std::exchange(greeting_timer_, {}));
  last_failure_ = why.context;
  // After a working connection the next attempt is immediate; after a failed one backoff grows.
  if (!std::exchange(ready_, false)) backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
  if (!std::exchange(closing_, false)) note_down(why);
  retry_at_ = lane_.now() + backoff_;

  const Error error{Errc::kUnavailable, fmt::format("{}: {}", name(), why.context)};
  std::vector<Call*> failed;
  for (const auto& [id, call] : std::exchange(calls_, {})) {
    lane_.cancel(call->timer);
    failed.push_back(call);
  }
  bytes_in_flight_ = 0;
  // A resumed caller may use or destroy this peer: its members are not touched from here on.
  for (Call* call : failed) call->reply.set(std::unexpected(error));
}

void TcpPeer::note_down(const Error& why) {
  if (std::exchange(down_, true)) return;
  down_since_ = lane_.now();
  log_warning("peer down", {{"peer", name()}, {"reason", why.context}});
}

PeerState TcpPeer::state() const {
  PeerState state;
  state.address = address_;
  state.called = was_called_;
  state.up = ready_;
  state.down_since = down_ ? std::optional(down_since_) : std::nullopt;
  if (down_) state.reason = last_failure_;
  return state;
}

void TcpPeer::set_address(TcpAddress address) {
  if (address == address_) return;
  close({Errc::kUnavailable, "the peer's address has changed"});
  address_ = std::move(address);
  retry_at_ = {};
}

void TcpPeer::close(const Error& why) {
  if (!connection_) return;
  closing_ = true;  // Closed by this node: the peer is not reported as down.
  connection_->close(why);
}

// Late replies find no call and are dropped.
void TcpPeer::complete(std::uint64_t request, Result<Slice> result) {
  const auto found = calls_.find(request);
  if (found == calls_.end()) return;
  Call* call = found->second;
  calls_.erase(found);
  bytes_in_flight_ -= call->bytes;
  lane_.cancel(call->timer);
  call->reply.set(std::move(result));
}

void TcpPeer::expire(std::uint64_t request) {
  if (ready_) {
    connection_->drop_unsent(request);
  } else {
    std::erase_if(waiting_, [request](const auto& entry) { return entry.first == request; });
  }
  complete(request, fail(Errc::kTimeout, fmt::format("{}: no reply before the deadline", name())));
}

}  // namespace moraine
