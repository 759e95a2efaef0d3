// TcpNetwork: Network over TCP, one connection to each peer that is called.
//
// Promise    As io/network.h. Calls to self go to the handler without a socket.
// Threading  One lane. stop() must complete before destruction when handlers may run.
// Limits     io/network.h, io/real/tcp_peer.h (calling) and io/real/tcp_server.h (serving).
// Errors     kInvalidArgument: an unknown node, or a request or reply above kFrameBytesMax.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "io/network.h"
#include "io/real/lane.h"
#include "io/real/tcp_socket.h"

namespace moraine {

class TcpPeer;
class TcpServer;
class TaskScope;

struct TcpNetworkOptions {
  NodeId self;
  std::string cluster;  // At most kClusterBytesMax bytes; nodes of other clusters are refused.
  std::map<NodeId, TcpAddress> peers;
};

// What this node knows about another one.
struct PeerState {
  TcpAddress address;
  bool called = false;                // False: nothing is known about it.
  bool up = false;                    // Connected.
  std::optional<Instant> down_since;  // Time of the first failure since it was last up.
  std::string reason;                 // Why it is down.
};

class TcpNetwork final : public Network {
 public:
  TcpNetwork(Lane& lane, TcpNetworkOptions options);
  ~TcpNetwork() override;

  // Without it this node calls others but is not called.
  Result<void> listen(const TcpAddress& address);
  std::uint16_t port() const;
  // Adds the peer, or moves it to another address.
  void set_peer(NodeId node, TcpAddress address);
  std::map<NodeId, PeerState> peers() const;

  NodeId self() const override { return self_; }
  Task<Result<Slice>> call(NodeId to, Slice request, Instant deadline) override;
  void serve(RequestHandler handler) override;

  // Fails the calls in flight with kUnavailable, closes every connection and waits for the handlers
  // that run. Later calls fail with kUnavailable.
  Task<void> stop();

 private:
  struct SelfCall;

  void close();
  Task<Result<Slice>> call_self(Slice request, Instant deadline);
  Task<void> serve_self(std::shared_ptr<SelfCall> call, std::shared_ptr<RequestHandler> handler,
                        Slice request);

  Lane& lane_;
  const NodeId self_;
  const std::string cluster_;
  bool stopped_ = false;
  std::size_t self_calls_ = 0;
  std::size_t self_bytes_ = 0;
  // Declared first, so that the tasks end last.
  std::unique_ptr<TaskScope> tasks_;
  std::unique_ptr<TcpServer> server_;
  std::map<NodeId, std::unique_ptr<TcpPeer>> peers_;
};

}  // namespace moraine
