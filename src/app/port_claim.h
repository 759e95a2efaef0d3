// PortClaims: the addresses that a server is about to listen on, bound before it makes anything.
//
// Promise    An address that another process listens on is refused before the server has touched
//            its data. One that is released within `patience` is taken: the kernel closes the
//            sockets of a killed process only when its last I/O is done. The listeners of this
//            process bind beside a claim.
// Threading  Blocks.
// Errors     kConflict: in use, or given twice; says by which option. kInvalidArgument: no address
//            of this machine.
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

  // `option` names the address in errors: "--http". A port 0 claims nothing but the host.
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
