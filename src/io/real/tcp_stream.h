// TcpListener: accepts connections of clients and serves each as a ByteStream.
//
// Promise    A system call is tried first; a stream waits for the socket only when the call would
//            block, and then holds no buffer. Pieces are written without copying; pieces that are
//            adjacent in memory are written as one. A connection past the limit is accepted and
//            closed.
// Threading  The lane's thread.
// Limits     kClientConnectionsMax connections, or fewer by option; kPiecesPerWrite pieces a call.
// Tests      tcp_stream_test.cpp
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
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
  void close() override;
  std::string peer() const override { return peer_; }

  void on_ready(Ready ready) override;

 private:
  // Suspends until on_ready() or close() resumes the handle in `slot`.
  auto wait(std::coroutine_handle<>& slot);

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

class TcpListener final : public FdHandler {
 public:
  // Listens on a numeric host; port 0 lets the system choose. Raises the limit of open files of
  // the process to what the connections may need, as far as the system allows.
  static Result<std::unique_ptr<TcpListener>> open(Lane& lane, const TcpAddress& address,
                                                   StreamHandler handler,
                                                   TcpListenerLimits limits = {});
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;
  ~TcpListener();  // Requires: stop() has ended.

  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return streams_.size(); }
  std::uint64_t refused() const { return refused_; }
  // Closes the listener and every stream, and waits for the handlers.
  Task<void> stop();

  void on_ready(Ready ready) override;

 private:
  TcpListener(Lane& lane, StreamHandler handler, TcpListenerLimits limits)
      : lane_(lane), handler_(std::move(handler)), limits_(limits) {}

  void accept_all();
  void add(int fd, std::string peer);
  Task<void> serve(std::uint64_t number, std::shared_ptr<TcpStream> stream);

  Lane& lane_;
  const StreamHandler handler_;
  const TcpListenerLimits limits_;
  int listener_ = -1;
  WatchId watch_;
  TimerId retry_timer_;
  std::uint16_t port_ = 0;
  std::uint64_t next_stream_ = 1;
  std::uint64_t refused_ = 0;
  bool failing_ = false;  // Since the last one was accepted.
  std::unordered_map<std::uint64_t, std::shared_ptr<TcpStream>> streams_;
  TaskScope handlers_;
};

}  // namespace moraine
