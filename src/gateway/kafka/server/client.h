// Client: the client of one connection; the interface for handlers.
//
// Threading  The connection's lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gateway/kafka/server/turns.h"
#include "io/executor.h"

namespace moraine::kafka {

// More than the socket buffers of both sides hold when the client does not read.
inline constexpr std::uint64_t kUnreadBytesMax = std::uint64_t{6} << 20;

class Client {
 public:
  explicit Client(std::string peer) : peer_(std::move(peer)) {}

  // "127.0.0.1:5123"
  const std::string& peer() const { return peer_; }
  // "/127.0.0.1"
  std::string host() const;

  // The connection has ended: answers are not needed any more.
  bool disconnected() const { return disconnected_; }
  void leave();
  // Called by leave(); removed by drop().
  std::uint64_t on_disconnect(Callback callback);
  void drop(std::uint64_t hook) { hooks_.erase(hook); }

  // Memory of answers that are not sent yet.
  std::size_t unsent_bytes() const { return unsent_bytes_; }
  void set_unsent_bytes(std::size_t bytes) { unsent_bytes_ = bytes; }
  // It has taken so many bytes that it must have read some.
  bool reads() const { return taken_bytes_ > kUnreadBytesMax; }
  void took(std::size_t bytes) { taken_bytes_ += bytes; }

  // In which the batches of Produce requests are given to partitions.
  Turns& produce_turns() { return produce_turns_; }

 private:
  const std::string peer_;
  bool disconnected_ = false;
  std::uint64_t taken_bytes_ = 0;
  std::size_t unsent_bytes_ = 0;
  std::uint64_t next_hook_ = 1;
  std::map<std::uint64_t, Callback> hooks_;
  Turns produce_turns_;
};

}  // namespace moraine::kafka
