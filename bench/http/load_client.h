// LoadClient: sends requests over several connections, one at a time on each, and checks the
// answers; the same loop for every protocol whose answers can be cut out of a stream.
//
// Promise    A connection gets the next request as soon as the answer to its last one is complete.
//            An answer that the protocol's function refuses ends the run.
// Threading  Plain blocking calls, one thread.
// Limits     kSilence without an answer.
// Tests      load_client_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/socket.h"
#include "base/result.h"
#include "bench/measure.h"

namespace moraine::bench {

// The bytes of the first whole answer in `received`; 0: it is not whole yet. An error: it is no
// right one.
using AnswerSize = Result<std::size_t> (*)(std::string_view received);

// What is sent and how often.
struct LoadPlan {
  std::span<const std::string> requests;  // Taken in turn by the connections.
  std::uint64_t operations = 1;           // Of each request.
  double seconds = 0;                     // Begins again until then; 0: each request once.
};

class LoadClient {
 public:
  static Result<LoadClient> connect(const TcpAddress& address, std::size_t connections,
                                    AnswerSize answer_size);
  LoadClient(LoadClient&& other) noexcept;
  LoadClient& operator=(LoadClient&&) = delete;
  ~LoadClient();

  // Latencies of the round are those of requests.
  Result<Round> run(const LoadPlan& plan);
  // The same request on every connection, one after the other: the last answer.
  Result<std::string> exchange(std::string_view request);

 private:
  struct Connection {
    app::Socket socket;
    std::string_view unsent;
    std::string received;
    std::uint64_t sent_at = 0;  // In nanoseconds of the round.
    bool waits = false;         // For an answer.
    bool watched_out = false;   // The kernel had no room for all of the request.
  };

  LoadClient(int poll, AnswerSize answer_size) : poll_(poll), answer_size_(answer_size) {}

  static Result<std::string> exchange(Connection& with, std::string_view request, AnswerSize size);
  Result<void> send_some(Connection& to);
  // True: an answer is complete.
  Result<bool> receive_some(Connection& from);
  // Events of connections until `plan` is done.
  Result<void> serve(const LoadPlan& plan, const Stopwatch& watch, Round& round);
  Result<void> next(Connection& connection, const LoadPlan& plan, const Stopwatch& watch);

  int poll_;
  AnswerSize answer_size_;
  std::vector<Connection> connections_;
  std::size_t next_request_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace moraine::bench
