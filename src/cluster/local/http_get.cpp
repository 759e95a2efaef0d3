#include "cluster/local/http_get.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace moraine {
namespace {

constexpr std::size_t kReadStep = std::size_t{16} << 10;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Error> unreachable(const TcpAddress& address, std::string_view why) {
  return fail(Errc::kUnavailable, fmt::format("{}: {}", to_string(address), why));
}

void set_timeout(int fd, Duration timeout) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  timeval value{};
  value.tv_sec = micros / 1'000'000;
  value.tv_usec = std::max<suseconds_t>(micros % 1'000'000, 1);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

Result<Socket> connect_to(const TcpAddress& address, Duration timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) return unreachable(address, gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket.fd() >= 0) {
      set_timeout(socket.fd(), timeout);
      if (::connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    }
    why = std::strerror(errno);
  }
  return unreachable(address, why);
}

Result<std::string> exchange(const Socket& socket, const TcpAddress& address,
                             const std::string& path) {
  const std::string request =
      fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\n\r\n", path, to_string(address));
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return unreachable(address, std::strerror(errno));
  }
  std::string answer;
  for (;;) {
    const std::size_t at = answer.size();
    answer.resize(at + kReadStep);
    const ssize_t count = ::recv(socket.fd(), answer.data() + at, kReadStep, 0);
    answer.resize(at + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return answer;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreachable(address, std::strerror(errno));
    if (answer.size() > kHttpGetBytesMax) return unreachable(address, "the answer is too long");
  }
}

}  // namespace

bool can_connect(const TcpAddress& address, Duration timeout) {
  return connect_to(address, timeout).has_value();
}

Result<std::string> http_get(const TcpAddress& address, const std::string& path, Duration timeout) {
  TRY(const Socket socket, connect_to(address, timeout));
  TRY(const std::string answer, exchange(socket, address, path));
  const std::size_t body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || body == std::string::npos) {
    return unreachable(address, "no HTTP server; give the http= address that serve printed");
  }
  const std::string status = answer.substr(0, answer.find("\r\n"));
  if (!status.contains(" 200")) return unreachable(address, path + " gave " + status);
  return answer.substr(body + 4);
}

}  // namespace moraine
