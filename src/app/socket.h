// Socket: a connected TCP socket with plain blocking calls.
//
// Threading  Blocks.
// Errors     kNotFound: the host has no address. kUnavailable: not reachable, or the peer
//            disconnected. kTimeout: no progress for the timeout that was set when connecting.
#pragma once

#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

class Socket {
 public:
  // Not connected.
  Socket() = default;
  static Result<Socket> connect(const TcpAddress& address, Duration timeout);
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // Sends all bytes. Requires: open().
  Result<void> send(ByteSpan bytes);
  // Fills `to`. Requires: open().
  Result<void> receive(MutableByteSpan to);
  // What is there, at least a byte; 0: the peer closed the connection. Requires: open().
  Result<std::size_t> receive_some(MutableByteSpan to);
  // Of every call from now on. Requires: open().
  void set_timeout(Duration timeout);

 private:
  explicit Socket(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace moraine::app
