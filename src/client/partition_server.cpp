#include "client/partition_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/event.h"
#include "io/run_on.h"

namespace moraine {

// A change of a session, in flight or answered.
struct PartitionServer::Change {
  std::optional<Slice> reply;
  std::vector<std::shared_ptr<OneShot<bool>>> followers;

  void set(Slice encoded) {
    reply = std::move(encoded);
    for (const auto& follower : std::exchange(followers, {})) follower->set(true);
  }
  static Task<void> wait(std::shared_ptr<Change> change) {
    if (change->reply) co_return;
    const auto ended = std::make_shared<OneShot<bool>>();
    change->followers.push_back(ended);
    co_await *ended;
  }
};

struct PartitionServer::Session {
  std::uint64_t number = 0;  // Of the newest change.
  std::uint64_t used = 0;    // The greater, the later.
  std::shared_ptr<Change> newest;
  bool busy() const { return newest && !newest->reply; }
};

// One incarnation of a partition.
struct PartitionServer::Served {
  std::weak_ptr<queue::Partition> partition;
  std::uint64_t incarnation = 0;
  std::uint64_t last_session = 0;  // Numbers of sessions are not used again.
  std::uint64_t uses = 0;
  std::map<std::uint64_t, Session> sessions;

  // False: there are too many, and none is idle.
  bool make_room() {
    if (sessions.size() < kSessionsMax) return true;
    auto oldest = sessions.end();
    for (auto at = sessions.begin(); at != sessions.end(); ++at) {
      if (at->second.busy()) continue;
      if (oldest == sessions.end() || at->second.used < oldest->second.used) oldest = at;
    }
    if (oldest == sessions.end()) return false;
    sessions.erase(oldest);
    return true;
  }
};

struct PartitionServer::State {
  State(Executor& its_executor, Random& its_random, Find its_find)
      : executor(its_executor),
        random(its_random),
        find(std::move(its_find)),
        ended(its_executor) {}
  Executor& executor;
  Random& random;
  Find find;  // Empty after close().
  Event ended;
  std::size_t calls = 0;
  std::size_t bytes = 0;
  std::size_t waits = 0;
  std::size_t swept = 0;  // Entries of `served` after the last sweep.
  std::map<std::pair<TabletId, queue::PartitionIndex>, ServedPtr> served;

  bool full(std::size_t more) const {
    return calls > kPartitionCallsMax || bytes + more > kPartitionCallBytesMax;
  }
  ServedPtr incarnation_of(const PartitionRequest& request, const HomePartition& home) {
    ServedPtr& known = served[{request.tablet, request.partition}];
    if (known && known->partition.lock() == home.partition) return known;
    known = std::make_shared<Served>();
    known->partition = home.partition;
    // Not 0, which stands for none.
    known->incarnation = std::max<std::uint64_t>(random.next(), 1);
    const ServedPtr found = known;
    if (served.size() > 2 * swept + kSessionsMax) {
      std::erase_if(served, [](const auto& one) { return one.second->partition.expired(); });
      swept = served.size();
    }
    return found;
  }
};

namespace {

using queue::Partition;
using PartitionPtr = std::shared_ptr<Partition>;

Slice refused(PartitionReply reply, Refusal refusal, std::string why) {
  reply.refusal = refusal;
  const bool here = refusal != Refusal::kNotHere;
  reply.status = fail(here ? Errc::kOverloaded : Errc::kNotHere, std::move(why));
  return encode(reply);
}

// On any thread.
Slice finish(PartitionReply reply, const Partition& partition) {
  reply.stopped = partition.stopped();
  reply.info = partition.info();
  Slice encoded = encode(reply);
  if (encoded.size() <= kFrameBytesMax) return encoded;
  reply.entries.clear();
  reply.status = fail(Errc::kInvalidArgument,
                      fmt::format("a message of {} bytes is too long to be read from another node",
                                  encoded.size()));
  return encode(reply);
}

void keep_entry(PartitionReply& reply, Result<std::optional<queue::StoredEntry>> found) {
  if (!found) {
    reply.status = std::unexpected(std::move(found).error());
  } else if (*found) {
    reply.entries.push_back(std::move(**found));
  }
}

// The functions below run on the partition's lane.

Task<Slice> carry_out(PartitionPtr partition, PartitionCall call, PartitionReply reply) {
  if (auto* write = std::get_if<WriteCall>(&call)) {
    std::vector<std::shared_ptr<OneShot<queue::WriteAnswer>>> pending;
    for (queue::WriteRequest& request : write->writes) {
      pending.push_back(partition->write(std::move(request)));
    }
    for (const auto& answer : pending) reply.answers.push_back(co_await *answer);
  } else if (auto* commit = std::get_if<CommitOffsetCall>(&call)) {
    reply.status = co_await partition->commit(std::move(commit->offset));
  } else if (auto* forget = std::get_if<ForgetConsumerCall>(&call)) {
    reply.status = co_await partition->forget_consumer(std::move(forget->consumer));
  } else if (const auto* trim = std::get_if<TrimCall>(&call)) {
    const Result<queue::Offset> start = co_await partition->trim(trim->offset);
    reply.start = start.value_or(0);
    if (!start) reply.status = std::unexpected(start.error());
  }
  co_return finish(std::move(reply), *partition);
}

Task<void> read_page(Partition& partition, ReadCall call, PartitionReply& reply) {
  queue::ReadRequest request;
  request.offset = call.offset;
  request.bytes_max = std::min<std::size_t>(call.bytes_max, kPartitionPageBytes);
  request.entries_max = std::min<std::size_t>(call.entries_max, kEntriesPerReplyMax);
  Result<queue::ReadAnswer> answer = co_await partition.read(request);
  if (!answer) {
    reply.status = std::unexpected(std::move(answer).error());
    co_return;
  }
  reply.start = answer->start;
  reply.end = answer->end;
  reply.entries = std::move(answer->entries);
  if (reply.entries.size() > kEntriesPerReplyMax) reply.entries.resize(kEntriesPerReplyMax);
}

void describe(const Partition& partition, const std::string& after, PartitionReply& reply) {
  std::vector<queue::ConsumerOffset> all = partition.all_committed();
  std::erase_if(all, [&](const queue::ConsumerOffset& one) { return one.consumer <= after; });
  std::ranges::sort(all, {}, &queue::ConsumerOffset::consumer);
  reply.more = all.size() > kConsumersPerReplyMax;
  if (reply.more) all.resize(kConsumersPerReplyMax);
  reply.consumers = std::move(all);
}

Task<Slice> look(PartitionPtr partition, PartitionCall call, PartitionReply reply) {
  if (const auto* read = std::get_if<ReadCall>(&call)) {
    co_await read_page(*partition, *read, reply);
  } else if (const auto* time = std::get_if<FindTimeCall>(&call)) {
    keep_entry(reply, co_await partition->find_time_from(time->from, time->time_ms));
  } else if (std::holds_alternative<FindNewestCall>(call)) {
    keep_entry(reply, co_await partition->find_newest());
  } else if (const auto* asked = std::get_if<DescribeCall>(&call)) {
    describe(*partition, asked->after, reply);
  }
  co_return finish(std::move(reply), *partition);
}

Task<Slice> wait_end(PartitionPtr partition, Executor& home, WaitCall call, Instant deadline,
                     PartitionReply reply) {
  const auto moved = std::make_shared<Signal>(home);
  const std::uint64_t watch = partition->watch([moved] { moved->set(); });
  while (!partition->stopped() && partition->info().end == call.end && home.now() < deadline) {
    co_await moved->wait_until(deadline);
  }
  partition->unwatch(watch);
  co_return finish(std::move(reply), *partition);
}

}  // namespace

PartitionServer::PartitionServer(Network& network, Executor& executor, Random& random, Find find)
    : state_(std::make_shared<State>(executor, random, std::move(find))) {
  network.serve([state = state_](NodeId, Slice frame) { return answer(state, std::move(frame)); });
}

PartitionServer::~PartitionServer() {
  close();
}

void PartitionServer::close() {
  state_->find = nullptr;
}

std::size_t PartitionServer::calls() const {
  return state_->calls;
}

Task<void> PartitionServer::join() {
  const StatePtr state = state_;
  while (state->calls > 0) co_await state->ended.wait();
}

Task<Slice> PartitionServer::answer(StatePtr state, Slice frame) {
  const std::size_t bytes = frame.size();
  Result<PartitionRequest> request = decode_partition_request(frame);
  frame = {};
  if (!request) {
    PartitionReply reply;
    reply.status = std::unexpected(request.error());
    co_return encode(reply);
  }
  ++state->calls;
  Slice reply = co_await answer_counted(state, std::move(*request), bytes);
  if (--state->calls == 0) state->ended.notify_all();
  co_return reply;
}

Task<Slice> PartitionServer::answer_counted(StatePtr state, PartitionRequest request,
                                            std::size_t bytes) {
  PartitionReply reply;
  reply.kind = request.call.index();
  const HomePartition home =
      state->find ? state->find(request.tablet, request.partition) : HomePartition();
  if (!home.partition || home.partition->stopped()) {
    co_return refused(std::move(reply), Refusal::kNotHere,
                      fmt::format("partition {} of tablet {} is not running here",
                                  request.partition, request.tablet.value));
  }
  const ServedPtr served = state->incarnation_of(request, home);
  reply.incarnation = served->incarnation;
  if (change_of(request.call) != nullptr) {
    co_return co_await change(state, served, home, std::move(request.call), bytes,
                              std::move(reply));
  }
  const auto* wait = std::get_if<WaitCall>(&request.call);
  if (const auto* read = std::get_if<ReadCall>(&request.call)) {
    bytes += std::min<std::size_t>(read->bytes_max, kPartitionPageBytes);
  }
  if (state->full(bytes) || (wait != nullptr && state->waits >= kPartitionWaitsMax)) {
    co_return refused(std::move(reply), Refusal::kOverloaded,
                      fmt::format("{} requests are being served", state->calls));
  }
  if (const auto* opened = std::get_if<OpenSessionCall>(&request.call)) {
    co_return co_await open(served, *opened, std::move(reply));
  }
  // Requests that change nothing are carried out as often as they are delivered.
  if (wait == nullptr) {
    state->bytes += bytes;
    Slice answered = co_await run_on(*home.home, state->executor, [&] {
      return look(home.partition, std::move(request.call), std::move(reply));
    });
    state->bytes -= bytes;
    co_return answered;
  }
  if (wait->incarnation != served->incarnation) {
    co_return finish(std::move(reply), *home.partition);
  }
  const Duration left =
      std::min<Duration>(std::chrono::microseconds(request.timeout_us), kServedWaitMax);
  const Instant deadline = state->executor.now() + left;
  ++state->waits;
  Slice answered = co_await run_on(*home.home, state->executor, [&] {
    return wait_end(home.partition, *home.home, *wait, deadline, std::move(reply));
  });
  --state->waits;
  co_return answered;
}

Task<Slice> PartitionServer::open(ServedPtr served, OpenSessionCall call, PartitionReply reply) {
  const auto earlier = call.incarnation == served->incarnation ? served->sessions.find(call.closes)
                                                               : served->sessions.end();
  if (earlier != served->sessions.end()) {
    const std::shared_ptr<Change> newest = earlier->second.newest;
    served->sessions.erase(earlier);
    if (newest) co_await Change::wait(newest);
  }
  if (!served->make_room()) {
    co_return refused(std::move(reply), Refusal::kOverloaded,
                      fmt::format("{} sessions change the partition", served->sessions.size()));
  }
  reply.session = ++served->last_session;
  served->sessions[reply.session].used = ++served->uses;
  const auto partition = served->partition.lock();
  if (!partition) co_return refused(std::move(reply), Refusal::kNotHere, "it has stopped");
  co_return finish(std::move(reply), *partition);
}

Task<Slice> PartitionServer::change(StatePtr state, ServedPtr served, HomePartition home,
                                    PartitionCall call, std::size_t bytes, PartitionReply reply) {
  const ChangeNumber asked = *change_of(call);
  const auto found = served->sessions.find(asked.session);
  const bool known = asked.incarnation == served->incarnation && found != served->sessions.end();
  if (known && asked.number == found->second.number && asked.number > 0) {
    const std::shared_ptr<Change> first = found->second.newest;
    co_await Change::wait(first);
    co_return *first->reply;
  }
  if (!known || asked.number != found->second.number + 1) {
    co_return refused(std::move(reply), Refusal::kStaleSession, "the session is over");
  }
  if (state->full(bytes) || found->second.busy()) {
    co_return refused(std::move(reply), Refusal::kOverloaded,
                      fmt::format("{} requests are being served", state->calls));
  }
  const auto its = std::make_shared<Change>();
  found->second.number = asked.number;
  found->second.used = ++served->uses;
  found->second.newest = its;
  state->bytes += bytes;
  Slice answered = co_await run_on(*home.home, state->executor, [&] {
    return carry_out(home.partition, std::move(call), std::move(reply));
  });
  state->bytes -= bytes;
  its->set(answered);
  co_return answered;
}

}  // namespace moraine
