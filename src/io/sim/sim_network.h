// SimNetwork: the network between the simulated nodes.
//
// Promise    As io/network.h: a call ends with the peer's reply, or kTimeout at its deadline, or
//            kUnavailable; with faults a request may be delivered twice, late or never. Calls of a
//            node to itself have no faults.
// Invariants (1) A dead node sends nothing; requests to it are refused or ignored, by the seed.
//            (2) Messages of one link overtake each other unless the link is `ordered`.
// Threading  The thread of the simulation.
// Limits     kFrameBytesMax (longer requests: kInvalidArgument), kCallsInFlightMax,
//            kBytesInFlightMax. A call without a deadline may wait forever.
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "io/network.h"
#include "io/sim/node_executor.h"
#include "io/sim/sim_faults.h"

namespace moraine {

// Faults of one direction between two nodes; a reply is subject to those of its own direction.
struct LinkFaults {
  Duration latency_min = 20us;
  Duration latency_max = 200us;
  std::uint64_t bytes_per_us = 1000;
  FaultChance loss;
  FaultChance duplicate;
  FaultChance delay;  // Adds up to delay_max.
  Duration delay_max = 200ms;
  bool ordered = false;
};

class SimNetwork;

// The network during one life of a node.
class NodeNetwork final : public Network {
 public:
  NodeNetwork(SimNetwork& fabric, NodeExecutor& executor) : fabric_(fabric), executor_(executor) {}

  NodeId self() const override { return {executor_.node()}; }
  Task<Result<Slice>> call(NodeId to, Slice request, Instant deadline) override;
  // An empty handler refuses requests. Requests that are being served keep their handler.
  void serve(RequestHandler handler) override;

 private:
  friend class SimNetwork;
  struct Peer {
    std::size_t calls = 0;
    std::size_t bytes = 0;
  };

  SimNetwork& fabric_;
  NodeExecutor& executor_;
  std::shared_ptr<RequestHandler> handler_;
  std::map<NodeId, Peer> peers_;
};

class SimNetwork {
 public:
  SimNetwork(SimExecutor& loop, FaultCounters& faults, std::uint64_t seed, LinkFaults everywhere,
             bool trace_contents = true);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  // The faults of all links that have none of their own.
  LinkFaults& everywhere() { return everywhere_; }
  // The faults of one direction; from now on separate from everywhere(), of which they are a copy.
  LinkFaults& link(NodeId from, NodeId to);
  void reset_link(NodeId from, NodeId to) { links_.erase({from, to}); }

  // One-way partitions: messages of the direction, also those in flight, are lost.
  void block(NodeId from, NodeId to) { blocked_.insert({from, to}); }
  void unblock(NodeId from, NodeId to) { blocked_.erase({from, to}); }
  // Both ways, between each of `left` and each of `right`.
  void partition(const std::vector<NodeId>& left, const std::vector<NodeId>& right);
  void isolate(NodeId node);
  // Messages of the direction wait until it is unclogged.
  void clog(NodeId from, NodeId to) { clogged_.insert({from, to}); }
  void unclog(NodeId from, NodeId to);
  // Ends all partitions and clogs.
  void heal();

  std::size_t calls_in_flight() const { return calls_.size(); }

  // A node is known from its first attach on; each life attaches again.
  void attach(NodeNetwork& network);
  // The node of `network` has died: its own calls end now, calls to it end now or at their
  // deadlines, by the seed.
  void node_died(NodeNetwork& network);

 private:
  friend class NodeNetwork;
  using Direction = std::pair<NodeId, NodeId>;

  struct PendingCall {
    NodeNetwork* caller;
    NodeId to;
    Instant deadline;
    std::size_t bytes;
    std::uint64_t id = 0;
    TimerId timer = {};
    Result<Slice> outcome = Slice();
    std::coroutine_handle<> waiter = nullptr;
  };
  struct Message {
    NodeId from;
    NodeId to;
    std::uint64_t call;
    bool reply;
    bool refused;  // A reply without a payload: the node serves no requests.
    Slice payload;
  };
  struct Called;

  void begin(PendingCall& call, Slice request);
  void end(std::uint64_t call, Result<Slice> outcome);
  void send(Message message);
  void carry(Message message, LinkFaults& faults, bool faultless);
  void deliver(Message message);
  void deliver_request(Message message);
  void refuse(const Message& message, bool always);
  static Task<void> serve_one(SimNetwork& fabric, NodeNetwork& network,
                              std::shared_ptr<RequestHandler> handler, Message message);
  Duration latency_of(const LinkFaults& faults, std::size_t bytes);
  LinkFaults& faults_of(const Direction& direction);
  void trace(const Message& message);

  SimExecutor& loop_;
  FaultCounters& counters_;
  const bool trace_contents_;
  LinkFaults everywhere_;
  std::map<Direction, LinkFaults> links_;
  std::set<Direction> blocked_;
  std::set<Direction> clogged_;
  std::map<Direction, std::vector<Message>> held_;
  std::map<Direction, Instant> last_arrival_;
  std::map<NodeId, NodeNetwork*> nodes_;
  std::map<std::uint64_t, PendingCall*> calls_;
  std::uint64_t next_call_ = 1;

  SeededRandom latency_random_;
  SeededRandom fault_random_;
};

}  // namespace moraine
