#include "io/sim/sim_network.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/invariant.h"

namespace moraine {

// Suspends until the call has ended, or the caller's node is dead.
struct SimNetwork::Called {
  SimNetwork& fabric;
  PendingCall& call;
  Slice request;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) {
    call.waiter = self;
    fabric.begin(call, std::move(request));
  }
  Result<Slice> await_resume() {
    if (!call.caller->executor_.alive()) return fail(Errc::kUnavailable, "the node has crashed");
    return std::move(call.outcome);
  }
};

Task<Result<Slice>> NodeNetwork::call(NodeId to, Slice request, Instant deadline) {
  if (request.size() > kFrameBytesMax) {
    co_return fail(Errc::kInvalidArgument, fmt::format("a request of {} bytes", request.size()));
  }
  const std::size_t bytes = request.size();
  Peer& peer = peers_[to];
  if (peer.calls >= kCallsInFlightMax || peer.bytes + bytes > kBytesInFlightMax) {
    co_return fail(Errc::kOverloaded, fmt::format("{} calls and {} bytes in flight to node {}",
                                                  peer.calls, peer.bytes, to.value));
  }
  ++peer.calls;
  peer.bytes += bytes;
  SimNetwork::PendingCall call{.caller = this, .to = to, .deadline = deadline, .bytes = bytes};
  SimNetwork::Called called{fabric_, call, std::move(request)};
  Result<Slice> reply = co_await called;
  --peer.calls;
  peer.bytes -= bytes;
  co_return reply;
}

void NodeNetwork::serve(RequestHandler handler) {
  handler_ = handler ? std::make_shared<RequestHandler>(std::move(handler)) : nullptr;
}

SimNetwork::SimNetwork(SimExecutor& loop, FaultCounters& faults, std::uint64_t seed,
                       LinkFaults everywhere, bool trace_contents)
    : loop_(loop),
      counters_(faults),
      trace_contents_(trace_contents),
      everywhere_(everywhere),
      latency_random_(stream_seed(seed, "latency")),
      fault_random_(stream_seed(seed, "fault")) {}

LinkFaults& SimNetwork::link(NodeId from, NodeId to) {
  return links_.try_emplace({from, to}, everywhere_).first->second;
}

void SimNetwork::partition(const std::vector<NodeId>& left, const std::vector<NodeId>& right) {
  for (const NodeId a : left) {
    for (const NodeId b : right) {
      block(a, b);
      block(b, a);
    }
  }
}

void SimNetwork::isolate(NodeId node) {
  for (const auto& [other, network] : nodes_) {
    if (other != node) partition({node}, {other});
  }
}

void SimNetwork::unclog(NodeId from, NodeId to) {
  const Direction direction{from, to};
  clogged_.erase(direction);
  for (Message& message : std::exchange(held_[direction], {})) {
    carry(std::move(message), faults_of(direction), true);
  }
}

void SimNetwork::heal() {
  blocked_.clear();
  for (const auto& [from, to] : std::set<Direction>(clogged_)) unclog(from, to);
}

void SimNetwork::attach(NodeNetwork& network) {
  nodes_[network.self()] = &network;
}

void SimNetwork::node_died(NodeNetwork& network) {
  std::vector<std::uint64_t> own;
  std::vector<std::uint64_t> reset;
  for (const auto& [id, call] : calls_) {
    if (call->caller == &network) {
      own.push_back(id);
    } else if (call->to == network.self() && fault_random_.one_in(2)) {
      reset.push_back(id);
    }
  }
  for (const std::uint64_t id : own) end(id, Slice());
  for (const std::uint64_t id : reset) {
    const NodeId caller = calls_.at(id)->caller->self();
    send({.from = network.self(),
          .to = caller,
          .call = id,
          .reply = true,
          .refused = true,
          .payload = Slice()});
  }
  // Requests that are still being served keep the handler alive.
  network.handler_ = nullptr;
}

void SimNetwork::begin(PendingCall& call, Slice request) {
  NodeExecutor& executor = call.caller->executor_;
  if (!executor.alive()) {
    executor.note_refused_network();
    executor.post([&call] { call.waiter.resume(); });
    return;
  }
  call.id = next_call_++;
  calls_.emplace(call.id, &call);
  const std::uint64_t id = call.id;
  if (call.deadline != Instant::never()) {
    call.timer = loop_.schedule(call.deadline, [this, id] {
      counters_.add(FaultKind::kCallTimeout);
      end(id, fail(Errc::kTimeout, "no reply before the deadline"));
    });
  }
  send({.from = call.caller->self(),
        .to = call.to,
        .call = id,
        .reply = false,
        .refused = false,
        .payload = std::move(request)});
}

void SimNetwork::end(std::uint64_t id, Result<Slice> outcome) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // A late or second reply.
  PendingCall& call = *found->second;
  calls_.erase(found);
  loop_.cancel(call.timer);
  call.outcome = std::move(outcome);
  call.caller->executor_.post([&call] { call.waiter.resume(); });
}

void SimNetwork::send(Message message) {
  trace(message);
  const Direction direction{message.from, message.to};
  const bool faultless = message.from == message.to;
  if (!faultless && blocked_.contains(direction)) {
    counters_.add(FaultKind::kMessagePartitioned);
    return;
  }
  if (!faultless && clogged_.contains(direction)) {
    counters_.add(FaultKind::kMessageClogged);
    held_[direction].push_back(std::move(message));
    return;
  }
  LinkFaults& faults = faults_of(direction);
  if (!faultless && faults.loss.strikes(fault_random_)) {
    counters_.add(FaultKind::kMessageLost);
    return;
  }
  if (!faultless && faults.duplicate.strikes(fault_random_)) {
    counters_.add(FaultKind::kMessageDuplicated);
    carry(message, faults, faultless);
  }
  carry(std::move(message), faults, faultless);
}

void SimNetwork::carry(Message message, LinkFaults& faults, bool faultless) {
  Instant arrival = loop_.now() + latency_of(faults, message.payload.size());
  if (!faultless && faults.delay.strikes(fault_random_)) {
    counters_.add(FaultKind::kMessageDelayed);
    const auto bound = static_cast<std::uint64_t>(faults.delay_max.count()) + 1;
    arrival = arrival + Duration{latency_random_.below(bound)};
  }
  Instant& last = last_arrival_[{message.from, message.to}];
  if (faults.ordered) {
    arrival = std::max(arrival, last);
  } else if (arrival < last) {
    counters_.add(FaultKind::kMessageReordered);
  }
  last = std::max(last, arrival);
  loop_.schedule(arrival,
                 [this, held = std::move(message)]() mutable { deliver(std::move(held)); });
}

void SimNetwork::deliver(Message message) {
  if (message.from != message.to && blocked_.contains({message.from, message.to})) {
    counters_.add(FaultKind::kMessagePartitioned);
    return;
  }
  if (!message.reply) return deliver_request(std::move(message));
  if (message.refused) {
    return end(message.call,
               fail(Errc::kUnavailable,
                    fmt::format("node {} is down or serves no requests", message.from.value)));
  }
  end(message.call, std::move(message.payload));
}

void SimNetwork::deliver_request(Message message) {
  const auto found = nodes_.find(message.to);
  if (found == nodes_.end() || !found->second->executor_.alive()) return refuse(message, false);
  NodeNetwork& network = *found->second;
  if (!network.handler_) return refuse(message, true);
  network.executor_.post([this, &network, held = std::move(message)]() mutable {
    if (!network.executor_.alive()) return;
    if (!network.handler_) return refuse(held, true);
    spawn(serve_one(*this, network, network.handler_, std::move(held)));
  });
}

void SimNetwork::refuse(const Message& message, bool always) {
  if (!always && fault_random_.one_in(2)) return;
  counters_.add(FaultKind::kCallRefused);
  send({.from = message.to,
        .to = message.from,
        .call = message.call,
        .reply = true,
        .refused = true,
        .payload = Slice()});
}

Task<void> SimNetwork::serve_one(SimNetwork& fabric, NodeNetwork& network,
                                 std::shared_ptr<RequestHandler> handler, Message message) {
  Slice reply = co_await (*handler)(message.from, std::move(message.payload));
  INVARIANT(reply.size() <= kFrameBytesMax, "a reply of {} bytes", reply.size());
  if (!network.executor_.alive()) co_return;
  fabric.send({.from = message.to,
               .to = message.from,
               .call = message.call,
               .reply = true,
               .refused = false,
               .payload = std::move(reply)});
}

Duration SimNetwork::latency_of(const LinkFaults& faults, std::size_t bytes) {
  const Duration spread = std::max(Duration{0}, faults.latency_max - faults.latency_min);
  const Duration random{latency_random_.below(static_cast<std::uint64_t>(spread.count()) + 1)};
  return faults.latency_min + random + Duration{bytes * 1000 / faults.bytes_per_us};
}

LinkFaults& SimNetwork::faults_of(const Direction& direction) {
  const auto found = links_.find(direction);
  return found == links_.end() ? everywhere_ : found->second;
}

void SimNetwork::trace(const Message& message) {
  loop_.trace(std::uint64_t{message.from.value} << 32 | message.to.value);
  loop_.trace(message.call << 2 | (message.reply ? 2 : 0) | (message.refused ? 1 : 0));
  loop_.trace(trace_contents_ ? crc32c(message.payload) : message.payload.size());
}

}  // namespace moraine
