// HttpService: serves HTTP/1.1 and 1.0 on streams.
//
// Promise    Every request that can be read gets an answer: the handler's, or one that says what is
//            wrong with it. Connections are kept alive, pipelined requests are served in order. A
//            new connection past the bound replaces the one that is idle for longest, or else the
//            one whose request has been arriving for longest, if that is kArrivalGrace. A handler
//            is called once there is room for its answer; without room the client gets 503, and
//            nothing was done. What a handler answers is sent, however long it is.
// Threading  One executor; to serve all lanes make one for each (`TcpListener::open` with
//            `ServingLane`).
// Limits     HttpOptions, AnswerBudget, those of RequestParser; kInputBytes read ahead of a
//            handler.
// Tests      http_test.cpp, http_connection_fuzz.cpp
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>

#include "base/metrics.h"
#include "gateway/http/answer_budget.h"
#include "gateway/http/exchange.h"
#include "io/executor.h"
#include "io/stream.h"

namespace moraine::http {

inline constexpr std::size_t kInputBytes = std::size_t{64} << 10;
// Room for an answer of which nothing else is known.
inline constexpr std::size_t kAnswerRoom = std::size_t{64} << 10;

// A client that sends its request this slowly may be disconnected for a new one.
inline constexpr Duration kArrivalGrace = 5s;

struct HttpOptions {
  std::size_t connections_max = 1'024;
  Duration idle_timeout = 120s;    // Between two requests.
  Duration header_timeout = 30s;   // From the first byte of a request to the end of its header.
  Duration stalled_timeout = 60s;  // Of a body or an answer, without progress.
  // The memory that an answer has at most while it is made, or one part of an answer that streams.
  // Called before the handler, on the service's executor. None: kAnswerRoom.
  std::function<std::size_t(const Request&)> answer_room = {};
};

using HttpHandler = std::function<Task<void>(Exchange&)>;

class HttpConnection;

class HttpService {
 public:
  // The handler outlives every served stream, `answers` the service; it may be that of several.
  HttpService(Executor& executor, MetricRegistry& registry, AnswerBudget& answers,
              HttpHandler handler, HttpOptions options = {});
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  // The function that serves the connections of a listener. The service outlives its tasks.
  StreamHandler streams();

  std::size_t connections() const { return connections_; }

 private:
  friend class HttpConnection;
  using Connections = std::list<HttpConnection*>;

  // Closes a connection that waits for its client. False: there is none.
  bool make_place();
  Task<void> serve(std::shared_ptr<ByteStream> stream);
  void count(unsigned status);

  Executor& executor_;
  AnswerBudget& answer_budget_;
  const HttpHandler handler_;
  const HttpOptions options_;
  Gauge& open_;
  std::array<Counter*, 6> answers_{};  // By the first digit of the status.
  std::size_t connections_ = 0;
  // Each connection is in one of them.
  Connections idle_;      // Longest idle first.
  Connections arriving_;  // Whose requests are not here as a whole; the first to begin first.
  Connections busy_;
};

}  // namespace moraine::http
