// TcpPeer: the calls of this node to one other node, over one connection.
//
// Promise    A call ends with the reply, or with kTimeout at its deadline, or with kUnavailable as
//            soon as the connection breaks. The connection is made when a call needs it; after a
//            failed attempt calls fail at once until the backoff has passed. Each change between up
//            and down is logged once.
// Invariants Requests are sent only after the peer has proved its node id and cluster.
// Threading  The lane's thread.
// Limits     kCallsInFlightMax calls and kBytesInFlightMax request bytes, then kOverloaded.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "io/network.h"
#include "io/real/lane.h"
#include "io/real/tcp_connection.h"
#include "io/real/tcp_network.h"
#include "io/real/tcp_socket.h"
#include "io/sync.h"

namespace moraine {

// From the start of connecting until the peer's hello.
inline constexpr Duration kGreetingTimeout = 5s;
inline constexpr Duration kBackoffMin = 10ms;
inline constexpr Duration kBackoffMax = 1s;

class TcpPeer final : public TcpConnection::Owner {
 public:
  // `tasks` outlives the peer.
  TcpPeer(Lane& lane, TaskScope& tasks, Hello hello, TcpAddress address);
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;
  ~TcpPeer();

  Task<Result<Slice>> call(Slice request, Instant deadline);
  // The next connection uses it; the current one is closed.
  void set_address(TcpAddress address);
  // Closes the connection; every call in flight fails with `why`.
  void close(const Error& why);

  PeerState state() const;

 private:
  struct Call {
    OneShot<Result<Slice>> reply;
    std::size_t bytes = 0;
    TimerId timer;
  };

  void on_frame(Frame frame) override;
  void on_closed(const Error& why) override;
  void on_sent() override {}

  Result<void> admit(std::size_t bytes, Instant deadline) const;
  Result<void> ensure_connection();
  Task<void> connect(std::shared_ptr<TcpConnection> connection);
  void greeted(ByteSpan payload);
  void note_down(const Error& why);
  void complete(std::uint64_t request, Result<Slice> result);
  void expire(std::uint64_t request);
  std::string name() const;

  Lane& lane_;
  TaskScope& tasks_;
  const Hello hello_;
  TcpAddress address_;

  std::shared_ptr<TcpConnection> connection_;
  bool ready_ = false;  // The peer's hello was accepted.
  TimerId greeting_timer_;
  std::uint64_t attempts_ = 0;
  Duration backoff_{0};
  Instant retry_at_;
  std::string last_failure_;
  bool down_ = false;     // As last logged.
  Instant down_since_;    // While down_.
  bool closing_ = false;  // By this node.
  bool was_called_ = false;

  std::uint64_t next_request_ = 1;
  std::unordered_map<std::uint64_t, Call*> calls_;
  std::size_t bytes_in_flight_ = 0;
  std::deque<std::pair<std::uint64_t, Slice>> waiting_;  // Requests until ready_.
};

}  // namespace moraine
