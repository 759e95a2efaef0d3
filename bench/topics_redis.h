// Redis Streams with appendfsync always, as a child process, and pipelined XADD against it.
//
// Threading  Plain blocking calls.
// Errors     kUnsupported: there is no redis-server on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/child_process.h"
#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

class Redis {
 public:
  static Result<Redis> start(const std::string& folder);
  Redis(Redis&& other) noexcept;
  Redis& operator=(Redis&&) = delete;
  ~Redis();

  // Adds messages to `streams` streams in turn for `seconds` and waits for all answers.
  Result<Round> produce(std::uint32_t streams, double seconds);

 private:
  // One of several, since one client's commands never fill a whole sync.
  struct Connection {
    int socket = -1;
    std::uint64_t lines = 0;  // Of all answers so far.
  };

  explicit Redis(app::ChildProcess child) : child_(std::move(child)) {}
  Result<void> connect(int port);
  static Result<void> send(const Connection& to, const std::string& bytes);
  // Reads until this many lines have arrived in total.
  static Result<void> receive_until(Connection& from, std::uint64_t lines);

  app::ChildProcess child_;
  std::vector<Connection> connections_;
};

}  // namespace moraine::bench
