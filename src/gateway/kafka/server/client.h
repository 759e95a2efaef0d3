// Client: one connection's other side, as handlers of requests see it.
//
// Threading  The node's executor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "io/executor.h"

namespace moraine::kafka {

class Client {
 public:
  explicit Client(std::string peer) : peer_(std::move(peer)) {}

  // "127.0.0.1:5123"
  const std::string& peer() const { return peer_; }
  // "/127.0.0.1"
  std::string host() const;

  // The connection has ended: nobody waits for answers any more.
  bool gone() const { return gone_; }
  void leave();
  // Called by leave(); forgotten with drop().
  std::uint64_t on_leave(Callback callback);
  void drop(std::uint64_t hook) { hooks_.erase(hook); }

 private:
  const std::string peer_;
  bool gone_ = false;
  std::uint64_t next_hook_ = 1;
  std::map<std::uint64_t, Callback> hooks_;
};

}  // namespace moraine::kafka
