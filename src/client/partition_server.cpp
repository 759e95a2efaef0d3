#include "client/partition_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/change_sessions.h"
#include "client/end_watch.h"
#include "client/partition_calls.h"
#include "io/run_on.h"

namespace moraine {
namespace {

using queue::Partition;

constexpr std::size_t kSweepMin = 256;    // Incarnations that are kept without a sweep.
constexpr Duration kMissingPoll = 500ms;  // For partitions that do not run here.

}  // namespace

// One incarnation of a partition.
struct PartitionServer::Served {
  std::weak_ptr<Partition> partition;
  std::uint64_t incarnation = 0;
  std::shared_ptr<std::uint64_t> moments = std::make_shared<std::uint64_t>(0);
  std::shared_ptr<ChangeSessions> sessions;
  std::shared_ptr<EndWatch> watch;
};

// A wait in flight.
struct PartitionServer::Waiting {
  explicit Waiting(Executor& executor) : signal(executor) {}
  Signal signal;
  bool over = false;
  bool missing = false;           // Some watched partition does not run here.
  std::vector<ServedPtr> served;  // In the order of WaitCall::watched; null: not here.

  void end() {
    over = true;
    signal.set();
  }
};

struct PartitionServer::State {
  State(Executor& network_executor, Random& incarnations, Find find_partition)
      : executor(network_executor),
        random(incarnations),
        find(std::move(find_partition)),
        ended(network_executor) {}
  Executor& executor;
  Random& random;
  Find find;  // Empty after close().
  Event ended;
  std::size_t calls = 0;
  std::size_t bytes = 0;    // Requests.
  std::size_t replies = 0;  // Room taken for replies.
  std::shared_ptr<std::size_t> kept_replies = std::make_shared<std::size_t>(0);
  std::size_t swept = 0;  // Entries of `served` after the last sweep.
  std::map<std::pair<TabletId, queue::PartitionIndex>, ServedPtr> served;
  std::map<NodeId, std::size_t> waits;
  std::map<std::pair<NodeId, std::uint64_t>, std::shared_ptr<Waiting>> waiting;

  bool full(std::size_t more) const { return bytes + more > kPartitionCallBytesMax; }
  Slice overloaded(PartitionReply reply) const {
    return refuse_call(std::move(reply), Refusal::kOverloaded,
                       fmt::format("{} requests are being served", calls));
  }
  HomePartition running(TabletId tablet, queue::PartitionIndex index) const {
    HomePartition home = find ? find(tablet, index) : HomePartition();
    if (home.partition && home.partition->stopped()) return {};
    return home;
  }
  ServedPtr incarnation_of(TabletId tablet, queue::PartitionIndex index,
                           const HomePartition& home) {
    ServedPtr& known = served[{tablet, index}];
    if (known && known->partition.lock() == home.partition) return known;
    known = std::make_shared<Served>();
    known->partition = home.partition;
    // Not 0, which stands for none.
    known->incarnation = std::max<std::uint64_t>(random.next(), 1);
    known->sessions = std::make_shared<ChangeSessions>(executor, kept_replies);
    known->watch = std::make_shared<EndWatch>(executor);
    const ServedPtr made = known;
    if (served.size() > 2 * swept + kSweepMin) {
      std::erase_if(served, [](const auto& one) { return one.second->partition.expired(); });
      swept = served.size();
    }
    return made;
  }

  // Watches a partition, and adds it to `moved` if it is not as the caller knows it.
  void look(const WatchedEnd& known, std::uint32_t index, Waiting& wait,
            std::vector<MovedEnd>& moved) {
    const HomePartition home = running(known.tablet, known.partition);
    const ServedPtr now =
        home.partition ? incarnation_of(known.tablet, known.partition, home) : nullptr;
    ServedPtr& before = wait.served[index];
    if (before && before != now) before->watch->remove(wait.signal);
    before = now;
    if (!now) {
      wait.missing = true;
      if (!known.stopped) moved.push_back({index, 0, true, {}});
      return;
    }
    // The figures are read after the watch has begun.
    now->watch->add(home, wait.signal);
    queue::PartitionInfo info = home.partition->info();
    if (known.stopped || known.incarnation != now->incarnation || known.end != info.end) {
      moved.push_back({index, now->incarnation, false, info});
    }
  }
};

PartitionServer::PartitionServer(Network& network, Executor& executor, Random& random, Find find)
    : state_(std::make_shared<State>(executor, random, std::move(find))) {
  network.serve(
      [state = state_](NodeId from, Slice frame) { return answer(state, from, std::move(frame)); });
}

PartitionServer::~PartitionServer() {
  close();
}

void PartitionServer::close() {
  state_->find = nullptr;
  for (const auto& [waiter, waiting] : state_->waiting) waiting->end();
  for (const auto& [partition, served] : state_->served) served->watch->release();
}

std::size_t PartitionServer::calls() const {
  return state_->calls;
}

std::size_t PartitionServer::bytes() const {
  return state_->bytes + state_->replies;
}

Task<void> PartitionServer::join() {
  const StatePtr state = state_;
  while (state->calls > 0) co_await state->ended.wait();
}

Task<Slice> PartitionServer::answer(StatePtr state, NodeId from, Slice frame) {
  Delivery delivery{from, frame.size(), state->executor.now()};
  Result<PartitionRequest> request = decode_partition_request(frame);
  frame = {};
  if (!request) {
    PartitionReply reply;
    reply.status = std::unexpected(request.error());
    co_return encode(reply);
  }
  delivery.deadline = delivery.deadline + std::chrono::microseconds(request->timeout_us);
  ++state->calls;
  Slice reply = co_await serve(state, std::move(*request), delivery);
  if (--state->calls == 0) state->ended.notify_all();
  co_return reply;
}

Task<Slice> PartitionServer::serve(StatePtr state, PartitionRequest request, Delivery delivery) {
  PartitionReply reply;
  reply.kind = kind_of(request.call);
  if (state->calls > kPartitionCallsMax) co_return state->overloaded(std::move(reply));
  if (auto* wait = std::get_if<WaitCall>(&request.call)) {
    co_return co_await serve_wait(state, std::move(*wait), delivery, std::move(reply));
  }
  const HomePartition home = state->running(request.tablet, request.partition);
  if (!home.partition) {
    co_return refuse_call(std::move(reply), Refusal::kNotHere,
                          fmt::format("partition {} of tablet {} is not running here",
                                      request.partition, request.tablet.value));
  }
  const ServedPtr served = state->incarnation_of(request.tablet, request.partition, home);
  reply.incarnation = served->incarnation;
  if (change_of(request.call) != nullptr) {
    co_return co_await serve_change(state, served, home, std::move(request.call), delivery,
                                    std::move(reply));
  }
  if (std::holds_alternative<OpenSessionCall>(request.call) ||
      std::holds_alternative<CloseSessionCall>(request.call)) {
    co_return co_await serve_session(served, std::move(request.call), std::move(reply));
  }
  co_return co_await serve_read(state, served, home, std::move(request.call), delivery,
                                std::move(reply));
}

Task<Slice> PartitionServer::serve_read(StatePtr state, ServedPtr served, HomePartition home,
                                        PartitionCall call, Delivery delivery,
                                        PartitionReply reply) {
  const std::size_t room = reply_room(call);
  if (state->full(delivery.bytes) || state->replies + room > kPartitionReplyBytesMax) {
    co_return state->overloaded(std::move(reply));
  }
  state->bytes += delivery.bytes;
  state->replies += room;
  CallOutcome done = co_await run_on(*home.home, state->executor, [&] {
    return call_partition(home, served->moments, std::move(call), delivery.deadline,
                          std::move(reply));
  });
  state->bytes -= delivery.bytes;
  state->replies -= room;
  co_return std::move(done.reply);
}

Task<Slice> PartitionServer::serve_session(ServedPtr served, PartitionCall call,
                                           PartitionReply reply) {
  const auto* opens = std::get_if<OpenSessionCall>(&call);
  SessionName closes = opens ? opens->closes : std::get<CloseSessionCall>(call).closes;
  if (closes.incarnation != served->incarnation) closes = {};
  if (!co_await ChangeSessions::close(served->sessions, closes.session)) {
    co_return refuse_call(std::move(reply), Refusal::kOverloaded,
                          "too many requests close a session");
  }
  reply.last_change = served->sessions->last_change(closes.session);
  if (opens) {
    reply.session = served->sessions->open(closes.session);
    if (reply.session == 0) {
      co_return refuse_call(
          std::move(reply), Refusal::kOverloaded,
          fmt::format("{} sessions change the partition", served->sessions->size()));
    }
  }
  const auto partition = served->partition.lock();
  if (!partition) co_return refuse_call(std::move(reply), Refusal::kNotHere, "it has stopped");
  co_return finish_reply(std::move(reply), *partition);
}

Task<Slice> PartitionServer::serve_change(StatePtr state, ServedPtr served, HomePartition home,
                                          PartitionCall call, Delivery delivery,
                                          PartitionReply reply) {
  const ChangeNumber asked = *change_of(call);
  const bool known = asked.in.incarnation == served->incarnation;
  const std::uint64_t session = known ? asked.in.session : 0;
  if (const auto first = served->sessions->newest(session, asked.number)) {
    call = DescribeCall();  // Its payloads are not kept while it waits.
    if (!co_await ChangeSessions::wait(first)) co_return state->overloaded(std::move(reply));
    co_return *first->reply;
  }
  if (state->full(delivery.bytes)) co_return state->overloaded(std::move(reply));
  const auto begun = served->sessions->begin(session, asked.number);
  if (!begun && begun.error() == Refusal::kStaleSession) {
    reply.last_change = served->sessions->last_change(session);
    co_return refuse_call(
        std::move(reply), Refusal::kStaleSession,
        fmt::format("change session {} is unknown or closed; open a new one", asked.in.session));
  }
  if (!begun) co_return state->overloaded(std::move(reply));
  state->bytes += delivery.bytes;
  CallOutcome done = co_await run_on(*home.home, state->executor, [&] {
    return call_partition(home, served->moments, std::move(call), delivery.deadline,
                          std::move(reply));
  });
  state->bytes -= delivery.bytes;
  if (done.begun) {
    served->sessions->end(session, *begun, done.reply);
  } else {
    served->sessions->cancel(session, *begun, done.reply);
  }
  co_return std::move(done.reply);
}

Task<Slice> PartitionServer::serve_wait(StatePtr state, WaitCall call, Delivery delivery,
                                        PartitionReply reply) {
  const Instant deadline = std::min(delivery.deadline, state->executor.now() + kServedWaitMax);
  const std::pair waiter(delivery.from, call.waiter);
  const auto earlier = state->waiting.find(waiter);
  if (earlier != state->waiting.end()) {
    earlier->second->end();
  } else if (state->full(delivery.bytes) || state->waits[delivery.from] >= kPartitionWaitsMax) {
    co_return state->overloaded(std::move(reply));
  }
  const auto waiting = std::make_shared<Waiting>(state->executor);
  waiting->served.resize(call.watched.size());
  state->waiting[waiter] = waiting;
  ++state->waits[delivery.from];
  state->bytes += delivery.bytes;
  for (;;) {
    waiting->missing = false;
    for (std::uint32_t i = 0; i < call.watched.size(); ++i) {
      state->look(call.watched[i], i, *waiting, reply.moved);
    }
    const Instant now = state->executor.now();
    const bool over = waiting->over || !state->find || call.watched.empty() || now >= deadline;
    if (over || !reply.moved.empty()) break;
    const Instant poll = waiting->missing ? now + kMissingPoll : deadline;
    co_await waiting->signal.wait_until(std::min(deadline, poll));
  }
  for (const ServedPtr& one : waiting->served) {
    if (one) one->watch->remove(waiting->signal);
  }
  state->bytes -= delivery.bytes;
  if (--state->waits[delivery.from] == 0) state->waits.erase(delivery.from);
  const auto current = state->waiting.find(waiter);
  if (current != state->waiting.end() && current->second == waiting) state->waiting.erase(current);
  co_return encode(reply);
}

}  // namespace moraine
