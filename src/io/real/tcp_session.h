// TcpSession: one accepted connection of a TcpServer (see there for promises and limits).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "io/network.h"
#include "io/real/tcp_connection.h"
#include "io/real/tcp_server.h"

namespace moraine {

class TcpSession final : public TcpConnection::Owner,
                         public std::enable_shared_from_this<TcpSession> {
 public:
  TcpSession(TcpServer& server, std::uint64_t number) : server_(&server), number_(number) {}

  void start(int fd);
  void close(const Error& why) { connection_->close(why); }

 private:
  void on_frame(Frame frame) override;
  void on_closed(const Error& why) override;
  void on_sent() override { throttle(); }

  Result<void> greet(const Frame& frame);
  void request(Frame frame);
  static Task<void> serve(std::shared_ptr<TcpSession> self, std::shared_ptr<RequestHandler> handler,
                          Frame frame);
  void answer(std::uint64_t request, Slice reply);
  void throttle();

  TcpServer* server_;  // Null after closing.
  const std::uint64_t number_;
  std::shared_ptr<TcpConnection> connection_;
  TimerId greeting_timer_;
  bool greeted_ = false;
  NodeId from_;
  std::string address_;  // The peer's.
  std::size_t serving_ = 0;
  std::size_t serving_bytes_ = 0;
};

}  // namespace moraine
