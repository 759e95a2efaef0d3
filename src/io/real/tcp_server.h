// TcpServer: accepts connections of other nodes and serves their requests.
//
// Promise    Each received request is passed to the handler once, and its reply is sent on the
//            connection that it came from; when that is closed the reply is dropped. A wrong peer
//            (another cluster, protocol or node) is sent the reason, disconnected and logged.
// Invariants A connection carries requests only after its hello was accepted.
// Threading  The lane's thread.
// Limits     kConnectionsMax connections. Per connection at most kServedRequestsMax requests or
//            kConnectionServedBytesMax bytes are being served or wait to be sent back; past that
//            the connection is not read, which is backpressure on the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "io/network.h"
#include "io/real/lane.h"
#include "io/real/tcp_socket.h"
#include "io/served_requests.h"
#include "io/sync.h"

namespace moraine {

inline constexpr std::size_t kConnectionsMax = 1024;
inline constexpr Duration kRefusalLinePeriod = 10s;
inline constexpr std::size_t kConnectionServedBytesMax = std::size_t{128} << 20;
inline constexpr Duration kAcceptRetryDelay = 100ms;

class TcpSession;

class TcpServer final : public FdHandler {
 public:
  // `tasks` outlives the server and is joined before it is destroyed.
  TcpServer(Lane& lane, TaskScope& tasks, NodeId self, std::string cluster);
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;
  ~TcpServer();

  Result<void> listen(const TcpAddress& address);  // A numeric host; port 0 lets the system choose.
  std::uint16_t port() const { return port_; }     // 0 when it does not listen.
  // Requests that are being served keep their handler. An empty handler refuses requests.
  void serve(RequestHandler handler);
  // Null without a handler. The caller holds the pointer until the handler's task ends.
  std::shared_ptr<RequestHandler> handler() const { return handler_; }
  // Closes the listener and every connection; running handlers are not interrupted.
  void close();

  void on_ready(Ready ready) override;

 private:
  friend class TcpSession;

  void accept_all();
  void add_session(int fd);
  // Logs at most one line per kRefusalLinePeriod.
  void note_refusal(const std::string& peer, const Error& why);
  void remove_session(std::uint64_t number) { sessions_.erase(number); }

  Lane& lane_;
  TaskScope& tasks_;
  const NodeId self_;
  const std::string cluster_;
  std::shared_ptr<RequestHandler> handler_;
  int listener_ = -1;
  WatchId watch_;
  TimerId retry_timer_;
  std::uint16_t port_ = 0;
  std::uint64_t next_session_ = 1;
  std::uint64_t refusals_ = 0;  // Since the last log line.
  Instant refusal_line_at_;
  std::unordered_map<std::uint64_t, std::shared_ptr<TcpSession>> sessions_;
};

}  // namespace moraine
