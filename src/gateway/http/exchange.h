// Exchange: one request, its body and its answer, as a handler sees them.
//
// Promise    Bodies stream in both directions at the speed of the slower side. An answer is given
//            once: reply(), or begin(), write()..., end().
// Threading  The executor of the connection; the handler's coroutine alone.
// Errors     kUnavailable: the client is gone; a handler that sees it may just return.
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

  // The next piece of the body; empty: it is over. kInvalidArgument: it is no valid HTTP.
  virtual Task<Result<Slice>> read() = 0;
  // The whole body. kInvalidArgument: it has more than `most` bytes.
  Task<Result<Slice>> read_all(std::size_t most);

  virtual Task<Result<void>> reply(Reply reply) = 0;

  // An answer whose length is not known: chunked, or until the connection closes for a client of
  // HTTP/1.0. A handler that returns without end() makes the client see a broken answer.
  virtual Task<Result<void>> begin(Head head) = 0;
  // Ends when the system has taken the bytes.
  virtual Task<Result<void>> write(Slice bytes) = 0;
  // Trailers go to clients of HTTP/1.1; their names belong into a field "Trailer" of the head.
  virtual Task<Result<void>> end(Fields trailers) = 0;

 protected:
  ~Exchange() = default;
};

}  // namespace moraine::http
