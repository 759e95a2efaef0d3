#include "app/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace moraine::app {
namespace {

void set_socket_timeout(int fd, Duration timeout) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  timeval value{};
  value.tv_sec = micros / 1'000'000;
  value.tv_usec = std::max<suseconds_t>(micros % 1'000'000, 1);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

std::unexpected<Error> failed(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) return fail(Errc::kTimeout, "no answer in time");
  return fail(Errc::kUnavailable, std::strerror(error));
}

}  // namespace

Result<Socket> Socket::connect(const TcpAddress& address, Duration timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) return fail(Errc::kNotFound, gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket.open()) {
      set_socket_timeout(socket.fd_, timeout);
      const int on = 1;
      setsockopt(socket.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (::connect(socket.fd_, at->ai_addr, at->ai_addrlen) == 0) return socket;
    }
    why = std::strerror(errno == EINPROGRESS ? ETIMEDOUT : errno);
  }
  return fail(Errc::kUnavailable, why);
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Socket::send(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> Socket::receive(MutableByteSpan to) {
  while (!to.empty()) {
    const ssize_t count = ::recv(fd_, to.data(), to.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(errno);
    if (count == 0) return fail(Errc::kUnavailable, "the connection was closed");
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::size_t> Socket::receive_some(MutableByteSpan to) {
  for (;;) {
    const ssize_t count = ::recv(fd_, to.data(), to.size(), 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return failed(errno);
  }
}

void Socket::set_timeout(Duration timeout) {
  set_socket_timeout(fd_, timeout);
}

}  // namespace moraine::app
