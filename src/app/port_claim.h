// PortClaims: the addresses of a server, bound before it creates anything.
//
// Promise    An address that another process listens on is refused before the server has opened its
//            data. An address in use is retried for `patience`: the kernel closes the sockets of a
//            killed process only when its last I/O is done. The listeners of this process can bind
//            a claimed address.
// Threading  Blocks.
// Errors     kConflict: in use; the text names the option. kInvalidArgument: given twice, or no
//            address of this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

inline constexpr Duration kAddressReleaseWait = 2s;

class PortClaims {
 public:
  PortClaims() = default;
  PortClaims(const PortClaims&) = delete;
  PortClaims& operator=(const PortClaims&) = delete;
  ~PortClaims();

  // `option` names the address in errors: "--http". With port 0 only the host is checked.
  Result<void> add(std::string_view option, const TcpAddress& address,
                   Duration patience = kAddressReleaseWait);

 private:
  struct Claim {
    std::string option;
    SocketAddress address;
    int fd = -1;
  };
  std::vector<Claim> claims_;
};

}  // namespace moraine::app
