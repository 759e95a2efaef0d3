#include "io/real/tcp_socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "io/sync.h"

namespace moraine {
namespace {

constexpr int kBacklog = 256;
constexpr int kKeepAliveIdleSeconds = 5;
constexpr int kKeepAliveIntervalSeconds = 2;
constexpr int kKeepAliveProbes = 3;

using Addresses = std::vector<SocketAddress>;

Result<Addresses> look_up(const TcpAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int status =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (status != 0) {
    const Errc code = (flags & AI_NUMERICHOST) != 0 ? Errc::kInvalidArgument : Errc::kUnavailable;
    return fail(code, fmt::format("resolve {}: {}", to_string(address), gai_strerror(status)));
  }
  Addresses found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& one = found.emplace_back();
    one.size = entry->ai_addrlen;
    std::memcpy(&one.storage, entry->ai_addr, entry->ai_addrlen);
  }
  freeaddrinfo(list);
  return found;
}

std::unexpected<Error> system_failure(const char* operation, int error_number) {
  return fail(Errc::kUnavailable, fmt::format("{}: {}", operation, std::strerror(error_number)));
}

// Closes `fd` and reports the errno from before.
std::unexpected<Error> give_up(int fd, const char* operation) {
  const int error_number = errno;
  close(fd);
  return system_failure(operation, error_number);
}

Result<int> open_socket(const SocketAddress& address) {
  const int fd =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd < 0) return system_failure("socket", errno);
  return fd;
}

const sockaddr* raw(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

}  // namespace

std::string to_string(const TcpAddress& address) {
  const bool bare_ipv6 = address.host.contains(':');
  return fmt::format("{}{}{}:{}", bare_ipv6 ? "[" : "", address.host, bare_ipv6 ? "]" : "",
                     address.port);
}

Task<Result<Addresses>> resolve(Lane& lane, TcpAddress address) {
  Result<Addresses> numeric = look_up(address, AI_NUMERICHOST);
  if (numeric) co_return numeric;
  OneShot<Result<Addresses>> found;
  lane.begin_io();
  std::thread worker([&] {
    Result<Addresses> addresses = look_up(address, 0);
    lane.post(
        [&found, addresses = std::move(addresses)]() mutable { found.set(std::move(addresses)); });
  });
  Result<Addresses> addresses = co_await found;
  worker.join();
  lane.end_io();
  co_return addresses;
}

Result<SocketAddress> resolve_numeric(const TcpAddress& address) {
  TRY(const Addresses found, look_up(address, AI_NUMERICHOST | AI_PASSIVE));
  return found.front();
}

Result<int> open_listener(const SocketAddress& address) {
  TRY(const int fd, open_socket(address));
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd, raw(address), address.size) != 0) return give_up(fd, "bind");
  if (listen(fd, kBacklog) != 0) return give_up(fd, "listen");
  return fd;
}

Result<std::uint16_t> local_port(int fd) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return system_failure("getsockname", errno);
  }
  if (address.storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::string peer_address(int fd) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  auto* socket = reinterpret_cast<sockaddr*>(&address.storage);
  if (getpeername(fd, socket, &address.size) != 0) return "?";
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(socket, address.size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  const bool six = address.storage.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

Result<int> open_connection(const SocketAddress& address) {
  TRY(const int fd, open_socket(address));
  tune_connection(fd);
  if (connect(fd, raw(address), address.size) != 0 && errno != EINPROGRESS) {
    return give_up(fd, "connect");
  }
  return fd;
}

int connect_status(int fd) {
  int status = 0;
  socklen_t size = sizeof(status);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &status, &size) != 0) return errno;
  return status;
}

void tune_connection(int fd) {
  constexpr auto kTimeoutMs =
      std::chrono::duration_cast<std::chrono::milliseconds>(kDeadPeerTimeout).count();
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kTimeoutMs));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

}  // namespace moraine
