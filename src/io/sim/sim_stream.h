// SimStream: two ends of a connection in memory, for tests of what serves ByteStreams.
//
// Promise    What one end writes the other reads, in order; after close() the other end reads what
//            is in flight, then the end. No coroutine is resumed inside a call.
// Threading  Each end is used on its own executor, and closed on any of the simulation.
// Limits     `window` bytes in flight in each direction; a longer write waits for the reader.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "io/executor.h"
#include "io/stream.h"

namespace moraine {

struct SimStreamOptions {
  std::size_t window = std::size_t{64} << 10;
  std::size_t read_bytes_max = std::size_t{1} << 20;  // A read returns at most this.
  std::string first_peer = "10.0.0.2:2000";           // As the first end sees the second.
  std::string second_peer = "10.0.0.1:1000";
};

// The ends are used on `first` and `second`, which outlive them.
std::pair<std::shared_ptr<ByteStream>, std::shared_ptr<ByteStream>> make_sim_streams(
    Executor& first, Executor& second, const SimStreamOptions& options = {});
// Both ends on one executor.
std::pair<std::shared_ptr<ByteStream>, std::shared_ptr<ByteStream>> make_sim_streams(
    Executor& executor, const SimStreamOptions& options = {});

}  // namespace moraine
