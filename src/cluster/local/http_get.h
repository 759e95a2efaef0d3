// http_get: the body of a small document of a running node.
//
// Threading  Blocks.
// Limits     kHttpGetBytesMax for the whole answer.
// Errors     kUnavailable: not reachable, no HTTP server, or not 200.
#pragma once

#include <string>

#include "base/result.h"
#include "io/real/tcp_socket.h"

namespace moraine {

inline constexpr std::size_t kHttpGetBytesMax = std::size_t{8} << 20;

// Whether a process listens there.
bool can_connect(const TcpAddress& address, Duration timeout);

Result<std::string> http_get(const TcpAddress& address, const std::string& path, Duration timeout);

}  // namespace moraine
