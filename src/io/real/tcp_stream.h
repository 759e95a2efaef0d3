// TcpListener: accepts connections of clients and serves each as a ByteStream, on the lane that has
// the fewest of them.
//
// Promise    A system call is tried first; a stream waits for the socket only when the call would
//            block, and then holds no buffer. Pieces are written without copying; pieces that are
//            adjacent in memory are written as one. A connection past the limit is accepted and
//            closed.
// Threading  The thread of the listener's lane; a stream is used on the lane that serves it.
// Limits     kClientConnectionsMax connections, or fewer by option; kPiecesPerWrite pieces a call.
// Tests      tcp_stream_test.cpp
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "io/real/lane.h"
#include "io/real/tcp_socket.h"
#include "io/stream.h"
#include "io/sync.h"

namespace moraine {

inline constexpr std::size_t kClientConnectionsMax = 20'000;
inline constexpr std::size_t kPiecesPerWrite = 256;

// One client connection on a lane.
class TcpStream final : public ByteStream,
                        public FdHandler,
                        public std::enable_shared_from_this<TcpStream> {
 public:
  // Takes ownership of the socket.
  TcpStream(Lane& lane, int fd, std::string peer);
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;
  ~TcpStream() override;

  Task<Result<void>> readable() override;
  Task<Result<std::size_t>> read(MutableByteSpan into) override;
  Task<Result<void>> write(std::vector<Slice> pieces) override;
  Task<Result<std::size_t>> write_some(std::span<const Slice> pieces,
                                       std::size_t bytes_max) override;
  void close() override;
  std::string peer() const override { return peer_; }

  void on_ready(Ready ready) override;

 private:
  // Suspends until on_ready() or close() resumes the handle in `slot`.
  auto wait(std::coroutine_handle<>& slot);
  Result<std::size_t> send_now(std::span<iovec> parts);

  Lane& lane_;
  int fd_;
  WatchId watch_;
  bool readable_ = true;  // Maybe: a read has to be tried.
  bool writable_ = true;
  bool ended_ = false;  // The other side sends no more; what it sent is still read.
  std::coroutine_handle<> reader_;
  std::coroutine_handle<> writer_;
  const std::string peer_;
};

struct TcpListenerLimits {
  std::size_t connections_max = kClientConnectionsMax;
};

// A lane that serves connections.
struct ServingLane {
  Lane& lane;
  StreamHandler handler;
};

// The connections of one lane.
class TcpStreams {
 public:
  explicit TcpStreams(ServingLane serving)
      : lane_(serving.lane), handler_(std::move(serving.handler)) {}
  TcpStreams(const TcpStreams&) = delete;
  TcpStreams& operator=(const TcpStreams&) = delete;
  ~TcpStreams();  // Requires: stop() has ended.

  Lane& lane() { return lane_; }
  // On any thread; counts connections that are on their way here.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  // From any thread. Takes ownership of the socket.
  void give(int fd, std::string peer);
  // On the lane: closes every stream and waits for the handlers.
  Task<void> stop();

 private:
  void add(int fd, std::string peer);
  Task<void> serve(std::uint64_t number, std::shared_ptr<TcpStream> stream);

  Lane& lane_;
  const StreamHandler handler_;
  std::atomic<std::size_t> count_{0};
  bool stopped_ = false;
  std::uint64_t next_stream_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<TcpStream>> streams_;
  TaskScope handlers_;
};

class TcpListener final : public FdHandler {
 public:
  // Listens on a numeric host; port 0 lets the system choose. Raises the limit of open files of
  // the process to what the connections may need, as far as the system allows.
  static Result<std::unique_ptr<TcpListener>> open(Lane& lane, const TcpAddress& address,
                                                   StreamHandler handler,
                                                   TcpListenerLimits limits = {});
  // The same with connections on several lanes, which outlive the listener. Requires: at least one.
  static Result<std::unique_ptr<TcpListener>> open(Lane& lane, const TcpAddress& address,
                                                   std::vector<ServingLane> serving,
                                                   TcpListenerLimits limits = {});
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();  // Requires: stop() has ended.

  std::uint16_t port() const { return port_; }
  std::size_t connections() const;
  std::uint64_t refused() const { return refused_; }
  // Closes the listener and every stream, and waits for the handlers.
  Task<void> stop();

  void on_ready(Ready ready) override;

 private:
  TcpListener(Lane& lane, std::vector<ServingLane> serving, TcpListenerLimits limits);

  void accept_all();
  void add(int fd, std::string peer);

  Lane& lane_;
  const TcpListenerLimits limits_;
  std::vector<std::unique_ptr<TcpStreams>> lanes_;
  int listener_ = -1;
  WatchId watch_;
  TimerId retry_timer_;
  std::uint16_t port_ = 0;
  std::uint64_t refused_ = 0;
  bool failing_ = false;  // Since the last one was accepted.
};

}  // namespace moraine
