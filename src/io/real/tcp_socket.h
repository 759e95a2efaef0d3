// TCP sockets: addresses, listening, connecting. Every socket is non-blocking and close-on-exec.
//
// Threading  resolve() completes on the lane that it was given; the rest are plain calls.
// Errors     kInvalidArgument: an invalid address. kUnavailable: a system call failed.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/executor.h"
#include "io/real/lane.h"
#include "io/task.h"

namespace moraine {

// A peer that acknowledges nothing for this long counts as dead.
inline constexpr Duration kDeadPeerTimeout = 10s;

struct TcpAddress {
  std::string host;  // A name or a numeric IPv4 or IPv6 address.
  std::uint16_t port = 0;
  bool operator==(const TcpAddress&) const = default;
};
std::string to_string(const TcpAddress& address);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// Numeric hosts are resolved at once, names on a thread that lives as long as the lookup.
Task<Result<std::vector<SocketAddress>>> resolve(Lane& lane, TcpAddress address);
// A numeric host, without blocking; kInvalidArgument for a name.
Result<SocketAddress> resolve_numeric(const TcpAddress& address);

Result<int> open_listener(const SocketAddress& address);
Result<std::uint16_t> local_port(int fd);
// The peer's address as HOST:PORT; "?" when the socket is no longer connected.
std::string peer_address(int fd);
// Starts connecting; the socket becomes writable when that is done (see connect_status).
Result<int> open_connection(const SocketAddress& address);
// 0, or the errno that connecting or the connection failed with.
int connect_status(int fd);
// Sends small frames without delay and detects dead peers.
void tune_connection(int fd);

}  // namespace moraine
