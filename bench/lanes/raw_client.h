// RawClient: sends recorded requests over several connections and drops the answers, so that one
// thread with hardly any work keeps a server of the Kafka protocol busy.
//
// Promise    Every answer is counted, and its size is checked against the recording: an answer with
//            an error or without its records ends the run.
// Threading  Plain blocking calls, one thread.
// Limits     `depth` requests of each connection without an answer; kSilenceMs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/socket.h"
#include "base/result.h"
#include "bench/lanes/recording.h"
#include "bench/measure.h"

namespace moraine::bench {

// A server that answers nothing for this long has failed.
inline constexpr int kSilenceMs = 20'000;

class RawConnection {
 public:
  static Result<RawConnection> connect(const TcpAddress& address, Recording recording,
                                       std::size_t depth);

  Recording& recording() { return recording_; }
  // The number of the next request within the recording.
  std::size_t next() const { return sent_ % recording_.requests(); }
  // Sends the next request and waits for its answer. Requires: idle().
  Result<Slice> exchange();

  // Both without waiting: sends what the depth allows, or when `finishing` only the rest of a
  // request; reads what has arrived.
  Result<void> send(bool finishing);
  Result<void> receive(MutableByteSpan scratch);

  bool idle() const { return answered_ == sent_ && !in_the_middle(); }
  bool blocked() const { return blocked_; }  // The kernel takes no more for now.
  int fd() const { return socket_.fd(); }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t record_bytes() const { return record_bytes_; }

 private:
  RawConnection(app::Socket socket, Recording recording, std::size_t depth)
      : socket_(std::move(socket)), recording_(std::move(recording)), depth_(depth) {}

  bool in_the_middle() const { return at_ != recording_.begin(next()); }
  void advance(std::size_t bytes);
  void answered(std::size_t bytes);

  app::Socket socket_;
  Recording recording_;
  std::size_t depth_;
  std::size_t at_ = 0;      // In the recording: the next byte to send.
  std::uint64_t sent_ = 0;  // Requests, whole ones.
  std::uint64_t answered_ = 0;
  AnswerStream answers_;
  bool blocked_ = false;
  bool large_ = false;  // The last answer was: the next one will be.
  std::string wrong_;   // The first wrong answer.
  std::uint64_t messages_ = 0;
  std::uint64_t record_bytes_ = 0;
};

class RawClient {
 public:
  // A connection for each recording.
  static Result<RawClient> connect(const TcpAddress& address, std::vector<Recording> recordings,
                                   std::size_t depth);

  std::vector<RawConnection>& connections() { return connections_; }

  // Sends each recording over and over for `seconds` and waits for all answers. Operations of the
  // round are messages, bytes those of their batches.
  Result<Round> run(double seconds);

 private:
  // Waits until a connection has bytes, or room for some.
  Result<void> wait();

  std::vector<RawConnection> connections_;
  std::vector<std::byte> scratch_;
};

}  // namespace moraine::bench
