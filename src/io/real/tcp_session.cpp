#include "io/real/tcp_session.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "io/real/tcp_peer.h"

namespace moraine {

void TcpSession::start(int fd) {
  address_ = peer_address(fd);
  connection_ = std::make_shared<TcpConnection>(server_->lane_, *this);
  connection_->attach(fd);
  greeting_timer_ = server_->lane_.schedule(server_->lane_.now() + kGreetingTimeout, [this] {
    greeting_timer_ = {};
    connection_->close({Errc::kUnavailable, "no hello from the peer in time"});
  });
}

void TcpSession::on_frame(Frame frame) {
  const auto self = shared_from_this();
  if (!greeted_) {
    if (const Result<void> accepted = greet(frame); !accepted) {
      connection_->reject(accepted.error());
    }
  } else if (frame.kind == FrameKind::kRequest) {
    request(std::move(frame));
  } else if (frame.kind == FrameKind::kClose) {
    connection_->close({Errc::kUnavailable, std::string(frame.payload.text())});
  } else {
    const std::string_view kind = to_string(frame.kind);
    connection_->reject({Errc::kCorrupt, fmt::format("an unexpected {} frame", kind)});
  }
}

Result<void> TcpSession::greet(const Frame& frame) {
  if (frame.kind != FrameKind::kHello) return fail(Errc::kCorrupt, "a frame before the hello");
  TRY(const Hello hello, decode_hello(frame.payload));
  if (hello.cluster != server_->cluster_) {
    const std::string who =
        hello.node.value == 0 ? "a command" : fmt::format("node {}", hello.node.value);
    return fail(Errc::kConflict, fmt::format("{} belongs to cluster '{}', this is cluster '{}'",
                                             who, hello.cluster, server_->cluster_));
  }
  if (hello.peer != server_->self_) {
    return fail(Errc::kConflict,
                fmt::format("node {} looks for node {}, this is node {}", hello.node.value,
                            hello.peer.value, server_->self_.value));
  }
  greeted_ = true;
  from_ = hello.node;
  server_->lane_.cancel(std::exchange(greeting_timer_, {}));
  connection_->trust();
  const Hello answer{server_->self_, hello.node, server_->cluster_};
  connection_->send(FrameKind::kHello, 0, encode_hello(answer));
  return {};
}

void TcpSession::request(Frame frame) {
  std::shared_ptr<RequestHandler> handler = server_->handler();
  if (!handler) {
    const Slice refusal = encode_refusal(Errc::kUnavailable, "the node serves no requests");
    connection_->send(FrameKind::kRefusal, frame.request, refusal);
  } else {
    ++serving_;
    serving_bytes_ += frame.payload.size();
    server_->tasks_.spawn(serve(shared_from_this(), std::move(handler), std::move(frame)));
  }
  throttle();
}

Task<void> TcpSession::serve(std::shared_ptr<TcpSession> self,
                             std::shared_ptr<RequestHandler> handler, Frame frame) {
  const std::size_t bytes = frame.payload.size();
  Slice reply = co_await (*handler)(self->from_, std::move(frame.payload));
  --self->serving_;
  self->serving_bytes_ -= bytes;
  if (self->connection_->closed()) co_return;
  self->answer(frame.request, std::move(reply));
  self->throttle();
}

void TcpSession::answer(std::uint64_t request, Slice reply) {
  if (reply.size() <= kFrameBytesMax) {
    connection_->send(FrameKind::kReply, request, std::move(reply));
    return;
  }
  const std::string reason =
      fmt::format("the reply has {} bytes, at most {} can be sent", reply.size(), kFrameBytesMax);
  connection_->send(FrameKind::kRefusal, request, encode_refusal(Errc::kInvalidArgument, reason));
}

void TcpSession::throttle() {
  if (connection_->closed()) return;
  connection_->set_reading(serving_ + connection_->unsent_frames() < kServedRequestsMax &&
                           serving_bytes_ + connection_->unsent_bytes() <
                               kConnectionServedBytesMax);
}

void TcpSession::on_closed(const Error& why) {
  const auto self = shared_from_this();
  TcpServer* server = std::exchange(server_, nullptr);
  server->lane_.cancel(std::exchange(greeting_timer_, {}));
  if (greeted_) {
    // Debug only: TcpPeer logs whether the peer is up, and node 0 is a command that has ended.
    log_debug("session ended", {{"peer", from_.value}, {"reason", why}});
  } else if (why.code != Errc::kUnavailable) {
    server->note_refusal(address_, why);
  }
  server->remove_session(number_);
}

}  // namespace moraine
