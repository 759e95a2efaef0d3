#include "io/real/tcp_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "base/log.h"
#include "io/real/tcp_session.h"

namespace moraine {

TcpServer::TcpServer(Lane& lane, TaskScope& tasks, NodeId self, std::string cluster)
    : lane_(lane), tasks_(tasks), self_(self), cluster_(std::move(cluster)) {}

TcpServer::~TcpServer() {
  close();
}

Result<void> TcpServer::listen(const TcpAddress& address) {
  INVARIANT(listener_ < 0, "node {} listens already", self_.value);
  TRY(const SocketAddress socket, resolve_numeric(address));
  Result<int> listener = open_listener(socket);
  if (!listener) return std::unexpected(std::move(listener).error().within(to_string(address)));
  listener_ = *listener;
  watch_ = lane_.watch(listener_, *this);
  TRY(port_, local_port(listener_));
  return {};
}

void TcpServer::serve(RequestHandler handler) {
  handler_ = handler ? std::make_shared<RequestHandler>(std::move(handler)) : nullptr;
}

void TcpServer::close() {
  if (listener_ >= 0) {
    lane_.unwatch(watch_, listener_);
    ::close(std::exchange(listener_, -1));
    port_ = 0;
  }
  lane_.cancel(std::exchange(retry_timer_, {}));
  std::vector<std::shared_ptr<TcpSession>> sessions;
  for (const auto& [number, session] : sessions_) sessions.push_back(session);
  const Error why{Errc::kUnavailable, "this node is stopping"};
  for (const auto& session : sessions) session->close(why);
}

void TcpServer::on_ready(Ready ready) {
  if (ready.readable) accept_all();
}

void TcpServer::accept_all() {
  while (listener_ >= 0) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      add_session(fd);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // Out of descriptors or memory: no edge will report when there are some again.
      log_error("accept failed", {{"reason", std::strerror(errno)}});
      retry_timer_ = lane_.schedule(lane_.now() + kAcceptRetryDelay, [this] {
        retry_timer_ = {};
        accept_all();
      });
      return;
    }
  }
}

void TcpServer::note_refusal(const std::string& peer, const Error& why) {
  ++refusals_;
  if (lane_.now() < refusal_line_at_) return;
  log_warning("connection refused", {{"peer", peer}, {"reason", why}, {"since_last", refusals_}});
  refusals_ = 0;
  refusal_line_at_ = lane_.now() + kRefusalLinePeriod;
}

void TcpServer::add_session(int fd) {
  if (sessions_.size() >= kConnectionsMax) {
    note_refusal(peer_address(fd), {Errc::kOverloaded, "too many connections"});
    ::close(fd);
    return;
  }
  tune_connection(fd);
  const std::uint64_t number = next_session_++;
  const auto session = std::make_shared<TcpSession>(*this, number);
  sessions_.emplace(number, session);
  session->start(fd);
}

}  // namespace moraine
