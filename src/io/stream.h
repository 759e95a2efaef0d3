// ByteStream: a byte connection to a client, used by gateways.
//
// Promise    Bytes arrive in order or the stream ends. A waiting stream holds no buffer.
// Threading  The executor that the stream was made on.
// Limits     One read and one write at a time.
// Errors     kUnavailable: the peer closed the connection, or close() was called.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/task.h"

namespace moraine {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Waits until read() can return without waiting: bytes, the end, or an error.
  virtual Task<Result<void>> readable() = 0;
  // Waits for at least one byte and returns up to into.size() received bytes; 0 at the end.
  virtual Task<Result<std::size_t>> read(MutableByteSpan into) = 0;
  // Writes all pieces in order; completes when the system has accepted them.
  virtual Task<Result<void>> write(std::vector<Slice> pieces) = 0;
  // Waits until the system accepts bytes, and returns how many of the first `bytes_max` of `pieces`
  // it has accepted: at least one. Requires: there are bytes, and `pieces` live until it returns.
  virtual Task<Result<std::size_t>> write_some(std::span<const Slice> pieces,
                                               std::size_t bytes_max) = 0;
  // Pending and later reads and writes fail with kUnavailable.
  virtual void close() = 0;
  // The peer's address, for logs: "127.0.0.1:5123".
  virtual std::string peer() const = 0;
};

// Serves one connection until it ends. The stream lives as long as the task.
using StreamHandler = std::function<Task<void>(std::shared_ptr<ByteStream>)>;

}  // namespace moraine
