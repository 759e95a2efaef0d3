// HttpService: serves HTTP/1.1 and 1.0 on streams.
//
// Promise    Every request that can be read gets an answer: the handler's, or one that says what is
//            wrong with it. Connections are kept alive, pipelined requests are served in order. A
//            new connection past the bound replaces the one that is idle for longest.
// Threading  One executor; to serve all lanes make one for each (`TcpListener::open` with
//            `ServingLane`).
// Limits     HttpOptions, those of RequestParser; kInputBytes read ahead of a handler.
// Tests      http_test.cpp, http_connection_fuzz.cpp
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>

#include "base/metrics.h"
#include "gateway/http/exchange.h"
#include "io/executor.h"
#include "io/stream.h"

namespace moraine::http {

inline constexpr std::size_t kInputBytes = std::size_t{64} << 10;

struct HttpOptions {
  std::size_t connections_max = 1'024;
  Duration idle_timeout = 120s;    // Between two requests.
  Duration header_timeout = 30s;   // From the first byte of a request to the end of its header.
  Duration stalled_timeout = 60s;  // Of a body or an answer, without progress.
  // Of all answers that clients have not taken; past it requests get 503. An answer that is longer
  // than this is sent alone.
  std::size_t unsent_bytes_max = std::size_t{256} << 20;
};

using HttpHandler = std::function<Task<void>(Exchange&)>;

class HttpConnection;

class HttpService {
 public:
  // The handler outlives every served stream.
  HttpService(Executor& executor, MetricRegistry& registry, HttpHandler handler,
              HttpOptions options = {});
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  // The function that serves the connections of a listener. The service outlives its tasks.
  StreamHandler streams();

  std::size_t connections() const { return connections_; }

 private:
  friend class HttpConnection;
  using Idle = std::list<HttpConnection*>;

  Task<void> serve(std::shared_ptr<ByteStream> stream);
  void count(unsigned status);

  Executor& executor_;
  const HttpHandler handler_;
  const HttpOptions options_;
  Gauge& open_;
  std::array<Counter*, 6> answers_{};  // By the first digit of the status.
  std::size_t connections_ = 0;
  std::size_t unsent_bytes_ = 0;
  Idle idle_;  // Longest idle first.
};

}  // namespace moraine::http
