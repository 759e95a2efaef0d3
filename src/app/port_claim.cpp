#include "app/port_claim.h"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

namespace moraine::app {
namespace {

constexpr Duration kRetryPause = 20ms;

// The first address of a host, as listeners take it.
Result<SocketAddress> first_address(std::string_view option, const TcpAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (status != 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} {}: {}", option, to_string(address), gai_strerror(status)));
  }
  SocketAddress first;
  first.size = found->ai_addrlen;
  std::memcpy(&first.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return first;
}

// The errno, or 0 and the socket in `fd`.
int try_bind(const SocketAddress& address, int& fd) {
  fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0) return 0;
  const int error = errno;
  close(std::exchange(fd, -1));
  return error;
}

}  // namespace

PortClaims::~PortClaims() {
  for (const Claim& claim : claims_) close(claim.fd);
}

Result<void> PortClaims::add(std::string_view option, const TcpAddress& address,
                             Duration patience) {
  Claim claim{std::string(option), {}, -1};
  TRY(claim.address, first_address(option, address));
  for (const Claim& other : claims_) {
    const bool same =
        other.address.size == claim.address.size &&
        std::memcmp(&other.address.storage, &claim.address.storage, claim.address.size) == 0;
    if (address.port != 0 && same) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} and {} are both {}; give them different ports", other.option,
                              option, to_string(address)));
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int error = 0;
  while ((error = try_bind(claim.address, claim.fd)) == EADDRINUSE &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kRetryPause);
  }
  if (error == EADDRINUSE) {
    return fail(Errc::kConflict,
                fmt::format("cannot listen on {}: {}; stop the process that listens there, or give "
                            "another address with {} (port 0: a free one)",
                            to_string(address), std::strerror(error), option));
  }
  if (error != 0) {
    return fail(Errc::kInvalidArgument, fmt::format("{}: cannot listen on {}: {}", option,
                                                    to_string(address), std::strerror(error)));
  }
  claims_.push_back(std::move(claim));
  return {};
}

}  // namespace moraine::app
