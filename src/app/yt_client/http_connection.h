// HttpConnection: one connection to an HTTP/1.1 server, one request at a time.
//
// Promise    call() sends a request, its body in pieces, and passes the body of the answer on as it
//            arrives. When the server answers before it has read the whole body, the rest is not
//            sent, and the connection is not used again.
// Threading  Blocks; one thread.
// Limits     kAnswerHeaderBytesMax for the header of an answer and for its trailers.
// Errors     kAborted: interrupted. kUnavailable: the connection broke, or the peer is no HTTP
//            server. kTimeout: no progress for the timeout. Errors of the body and of the sink are
//            returned as they are.
// Tests      yt_client_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/socket.h"
#include "app/yt_client/body.h"

namespace moraine::app {

inline constexpr std::size_t kAnswerHeaderBytesMax = std::size_t{256} << 10;

struct HttpField {
  std::string name;
  std::string value;
};

struct HttpCall {
  std::string method;
  std::string target;
  std::vector<HttpField> fields = {};  // Without Host and those of the body's length.
  BodySource* body = nullptr;          // Sent in chunks.
  std::string text = {};               // Sent when there is no `body`.
};

struct HttpAnswer {
  int status = 0;
  std::vector<HttpField> fields;    // Names as they came.
  std::vector<HttpField> trailers;  // After the body.

  // Of any case; null: none.
  const std::string* field(std::string_view name) const;
  const std::string* trailer(std::string_view name) const;
};

class HttpConnection {
 public:
  static Result<HttpConnection> connect(const TcpAddress& address, Duration timeout);
  HttpConnection(HttpConnection&&) noexcept;
  HttpConnection& operator=(HttpConnection&&) noexcept;
  ~HttpConnection();

  // `begin` is called once the header of the answer is known, and returns the sink of its body.
  using Begin = std::function<BodySink(const HttpAnswer&)>;
  Result<HttpAnswer> call(const HttpCall& call, const Begin& begin, Duration timeout);

  // A signal ends a call with kAborted when this returns true after it; see InterruptWatch.
  void watch(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  // Whether another call may follow: the server keeps the connection, and has not closed it.
  bool usable() const;

 private:
  class Parser;

  HttpConnection(Socket socket, std::string host)
      : socket_(std::move(socket)), host_(std::move(host)) {}
  // False: the server began to answer before all was sent.
  Result<bool> send(const HttpCall& call);
  Result<void> receive(Parser& parser, const Begin& begin, Duration timeout);
  // Waits for bytes, or the end of the connection.
  Result<void> wait_readable(Duration timeout) const;

  Socket socket_;
  std::string host_;
  bool keeps_ = true;
  std::function<bool()> interrupted_;
};

}  // namespace moraine::app
