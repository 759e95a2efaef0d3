#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/invariant.h"
#include "base/log.h"
#include "io/real/tcp_stream.h"
#include "io/run_on.h"

namespace moraine {
namespace {

constexpr int kClientBacklog = 4096;
constexpr int kClientKeepAliveIdleSeconds = 60;
// Unsent bytes that the kernel buffers: more would be memory outside of every budget, and would
// hide that a client does not read.
constexpr int kUnsentInKernelMax = 128 << 10;
// Open files besides client connections: devices, nodes, the log.
constexpr rlim_t kOtherFiles = 4096;
constexpr Duration kAcceptRetry = 100ms;
// Connections accepted before other callbacks run.
constexpr int kAcceptedPerTurn = 256;

void raise_file_limit(std::size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(connections + kOtherFiles, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (wanted < connections + kOtherFiles) {
    log_warning("the limit of open files is low for the connections allowed: raise ulimit -n",
                {{"allowed", static_cast<std::uint64_t>(wanted)}, {"connections", connections}});
  }
}

// No TCP_USER_TIMEOUT: a live client that does not read for a while keeps a window of zero.
void tune_client(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kClientKeepAliveIdleSeconds,
             sizeof(kClientKeepAliveIdleSeconds));
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentInKernelMax, sizeof(kUnsentInKernelMax));
}

std::string name_of(const sockaddr_storage& storage, socklen_t size) {
  std::array<char, NI_MAXHOST> host;
  std::array<char, NI_MAXSERV> port;
  const int status =
      getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (status != 0) return "unknown:0";
  return to_string(TcpAddress{host.data(), static_cast<std::uint16_t>(std::atoi(port.data()))});
}

}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::open(Lane& lane, const TcpAddress& address,
                                                       StreamHandler handler,
                                                       TcpListenerLimits limits) {
  std::vector<ServingLane> serving;
  serving.push_back({lane, std::move(handler)});
  return open(lane, address, std::move(serving), limits);
}

Result<std::unique_ptr<TcpListener>> TcpListener::open(Lane& lane, const TcpAddress& address,
                                                       std::vector<ServingLane> serving,
                                                       TcpListenerLimits limits) {
  raise_file_limit(limits.connections_max);
  TRY(const SocketAddress socket, resolve_numeric(address));
  Result<int> fd = open_listener(socket);
  if (!fd) return std::unexpected(std::move(fd).error().within(to_string(address)));
  ::listen(*fd, kClientBacklog);
  std::unique_ptr<TcpListener> listener(new TcpListener(lane, std::move(serving), limits));
  listener->listener_ = *fd;
  listener->watch_ = lane.watch(*fd, *listener);
  TRY(listener->port_, local_port(*fd));
  return listener;
}

TcpListener::TcpListener(Lane& lane, std::vector<ServingLane> serving, TcpListenerLimits limits)
    : lane_(lane), limits_(limits) {
  INVARIANT(!serving.empty(), "a listener needs a lane that serves its connections");
  for (ServingLane& one : serving) lanes_.push_back(std::make_unique<TcpStreams>(std::move(one)));
}

std::size_t TcpListener::connections() const {
  std::size_t count = 0;
  for (const auto& streams : lanes_) count += streams->count();
  return count;
}

TcpListener::~TcpListener() {
  if (listener_ < 0) return;
  lane_.unwatch(watch_, listener_);
  ::close(listener_);
  lane_.cancel(retry_timer_);
}

Task<void> TcpListener::stop() {
  if (listener_ >= 0) {
    lane_.unwatch(watch_, listener_);
    ::close(std::exchange(listener_, -1));
    lane_.cancel(std::exchange(retry_timer_, {}));
  }
  for (const auto& streams : lanes_) {
    co_await run_on(streams->lane(), lane_, [&] { return streams->stop(); });
  }
}

void TcpListener::on_ready(Ready ready) {
  if (ready.readable && retry_timer_.value == 0) accept_all();
}

void TcpListener::accept_all() {
  Duration pause = Duration::zero();
  for (int accepted = 0; listener_ >= 0 && accepted < kAcceptedPerTurn;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    const int fd =
        accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      ++accepted;
      failing_ = false;
      add(fd, name_of(peer, size));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // Out of descriptors or memory: no edge will report when there are some again.
      if (!std::exchange(failing_, true)) {
        log_error("accept failed", {{"reason", std::strerror(errno)}});
      }
      pause = kAcceptRetry;
      break;
    }
  }
  if (listener_ < 0) return;
  retry_timer_ = lane_.schedule(lane_.now() + pause, [this] {
    retry_timer_ = {};
    accept_all();
  });
}

void TcpListener::add(int fd, std::string peer) {
  if (connections() >= limits_.connections_max) {
    if (refused_++ % limits_.connections_max == 0) {
      log_warning("connections refused", {{"max", limits_.connections_max}, {"peer", peer}});
    }
    ::close(fd);
    return;
  }
  tune_client(fd);
  const auto least =
      std::ranges::min_element(lanes_, {}, [](const auto& one) { return one->count(); });
  (*least)->give(fd, std::move(peer));
}

TcpStreams::~TcpStreams() {
  INVARIANT(count() == 0, "a listener is stopped before it is destroyed");
}

void TcpStreams::give(int fd, std::string peer) {
  count_.fetch_add(1, std::memory_order_relaxed);
  if (lane_.on_this_thread()) {
    add(fd, std::move(peer));
  } else {
    lane_.post([this, fd, peer = std::move(peer)]() mutable { add(fd, std::move(peer)); });
  }
}

void TcpStreams::add(int fd, std::string peer) {
  if (stopped_) {
    ::close(fd);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t number = next_stream_++;
  const auto stream = std::make_shared<TcpStream>(lane_, fd, std::move(peer));
  streams_.emplace(number, stream);
  handlers_.spawn(serve(number, stream));
}

// Posted connections arrive before this: the listener stops accepting first.
Task<void> TcpStreams::stop() {
  stopped_ = true;
  for (const auto& [number, stream] : streams_) stream->close();
  co_await handlers_.join();
}

Task<void> TcpStreams::serve(std::uint64_t number, std::shared_ptr<TcpStream> stream) {
  co_await handler_(stream);
  stream->close();
  streams_.erase(number);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace moraine
