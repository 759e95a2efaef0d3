// HttpServer: answers GET and HEAD of a few small documents.
//
// Promise    A request gets the handler's answer, or 400, 405, 431 by what is wrong with it.
//            Keep-alive.
// Threading  A thread of its own, on which the handler is called. The handler's answer may be given
//            on any thread, once; after the server is destroyed it goes nowhere. Started and
//            destroyed on one thread.
// Limits     kHttpConnectionsMax connections, kHttpHeaderBytesMax of header, no bodies,
//            kHttpIdleTimeout without progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/executor.h"
#include "io/real/tcp_socket.h"

namespace moraine::app {

inline constexpr std::size_t kHttpConnectionsMax = 256;
inline constexpr std::uint32_t kHttpHeaderBytesMax = 8u << 10;
inline constexpr Duration kHttpIdleTimeout = 30s;

struct HttpReply {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};
using HttpAnswer = std::move_only_function<void(HttpReply)>;
// `path` is without query.
using HttpHandler = std::function<void(std::string path, HttpAnswer answer)>;

class HttpServer {
 public:
  // kConflict: the address is taken. kInvalidArgument: nobody can have it.
  static Result<std::unique_ptr<HttpServer>> start(const TcpAddress& address, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace moraine::app
