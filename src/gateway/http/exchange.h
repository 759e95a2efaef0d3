// Exchange: one request, its body and its answer; the interface for handlers.
//
// Promise    Bodies stream in both directions at the speed of the slower side. A request is
//            answered once: reply(), or begin(), write()..., end().
// Threading  The executor of the connection; the handler's coroutine alone.
// Limits     The handler is called once the answer has room (HttpOptions::answer_room). An answer,
//            or a part of one that streams, that is longer is sent all the same.
// Errors     kUnavailable: the client has disconnected; the handler may return.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/http/request.h"
#include "io/task.h"

namespace moraine::http {

class Exchange {
 public:
  virtual const Request& request() const = 0;

  // The next part of the body; empty: the end. kInvalidArgument: invalid HTTP.
  virtual Task<Result<Slice>> read() = 0;
  // The whole body. kInvalidArgument: it has more than `most` bytes.
  Task<Result<Slice>> read_all(std::size_t most);

  virtual Task<Result<void>> reply(Reply reply) = 0;

  // An answer whose length is not known: chunked, or until the connection closes for a client of
  // HTTP/1.0. If a handler returns without end() the client sees a truncated answer.
  virtual Task<Result<void>> begin(Head head) = 0;
  // Returns when the operating system has taken the bytes.
  virtual Task<Result<void>> write(Slice bytes) = 0;
  // Trailers are sent to clients of HTTP/1.1; list their names in the field "Trailer" of the head.
  virtual Task<Result<void>> end(Fields trailers) = 0;

 protected:
  ~Exchange() = default;
};

}  // namespace moraine::http
