// ByteStream: a connection of bytes with a client, as gateways see it.
//
// Promise    Bytes arrive in order or the stream ends. A stream that waits holds no buffer.
// Threading  The executor that the stream was made on.
// Limits     One read and one write at a time.
// Errors     kUnavailable: the other side, or close(), ended it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/task.h"

namespace moraine {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Waits until read() has something to give: bytes, the end, or an error.
  virtual Task<Result<void>> readable() = 0;
  // What has arrived, at most into.size() bytes, waiting for the first; 0 at the end.
  virtual Task<Result<std::size_t>> read(MutableByteSpan into) = 0;
  // All of the pieces, in order; ends when the system has taken them.
  virtual Task<Result<void>> write(std::vector<Slice> pieces) = 0;
  // A read or write that waits ends with kUnavailable, as do all later ones.
  virtual void close() = 0;
  // The other side, for people: "127.0.0.1:5123".
  virtual std::string peer() const = 0;
};

// Serves one connection until it ends. The stream lives as long as the task.
using StreamHandler = std::function<Task<void>(std::shared_ptr<ByteStream>)>;

}  // namespace moraine
