// ClientLink: a connection of one client over simulated streams.
//
// Promise    What does not arrive within kAnswerTime closes the connection: the outcome of all
//            requests in flight is then unknown.
// Threading  Events of the scenario.
#pragma once

#include <memory>
#include <vector>

#include "sim/node/machines.h"

namespace moraine::sim {

inline constexpr Duration kAnswerTime = 12s;

class ClientLink {
 public:
  ClientLink(SimWorld& world, Machines& machines, History& history, Machines::Door door)
      : world_(world), machines_(machines), history_(history), door_(door) {}
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;
  ~ClientLink() { close(); }

  // Connects if it is not connected. False: no machine serves.
  bool open(SeededRandom& random);
  // A new connection to this lane of the newest server.
  bool open_lane(std::size_t lane);
  void close();
  bool connected() const { return connection_.stream != nullptr; }
  // Whether no other process has taken the claim since this one: its answers are not outdated.
  bool to_newest() const { return connected() && connection_.turn == machines_.newest_turn(); }

 protected:
  Task<Result<void>> write(std::vector<Slice> bytes);
  // Closes `stream` after kAnswerTime, unless `done`.
  void watch(const std::shared_ptr<ByteStream>& stream, std::shared_ptr<const bool> done);

  SimWorld& world_;
  Machines& machines_;
  History& history_;
  Machines::Connection connection_;

 private:
  const Machines::Door door_;
};

}  // namespace moraine::sim
