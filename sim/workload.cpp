#include "sim/workload.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

using namespace moraine::blob;

namespace {

constexpr Duration kAnswerSlack = 1s;  // After the deadline, for timers and messages.

}  // namespace

Workload::Workload(SimWorld& world, Cluster& cluster, Model& model, History& history,
                   WorkloadOptions options)
    : world_(world), cluster_(cluster), model_(model), history_(history), options_(options) {}

Workload::~Workload() = default;

void Workload::attach(std::size_t client) {
  SimNode& node = cluster_.node(cluster_.client_host(client));
  const std::uint64_t number = sessions_made_++;
  sessions_[client].reset(new Session{
      client, node.world().executor, cluster_.proxy(client), world_.stream("client", number), {}});
  Session& session = *sessions_[client];
  node.on_stop([&session] {
    session.over = true;
    session.scope.close();
  });
  node.on_crash([this, client] { sessions_.erase(client); });
  for (std::size_t i = 0; i < options_.drivers; ++i) {
    session.executor.post([this, &session] { session.scope.spawn(drive(session)); });
  }
}

Task<void> Workload::drive(Session& session) {
  while (!session.over && !stopped_ && !history_.failed()) {
    const auto think = session.random.below(static_cast<std::uint64_t>(options_.think_max.count()));
    co_await sleep_for(session.executor, Duration(think));
    if (session.over || stopped_ || history_.failed()) break;
    ++in_flight_;
    co_await one_command(session);
    --in_flight_;
  }
}

Task<void> Workload::one_command(Session& session) {
  const TabletId tablet{1 + session.random.below(options_.tablets)};
  const std::uint64_t dice = session.random.below(100);
  const Leader leader = leader_of(session, tablet);
  if (!leader || dice < 3) return boot(session, tablet);
  if (dice < 45) return put_new(session, leader);
  if (dice < 49) return put_again(session, tablet);
  if (dice < 52) return put_fenced(session, tablet);
  if (dice < 79) return get_some(session, tablet);
  if (dice < 88) return collect(session, leader);
  if (dice < 92) return range(session, tablet);
  if (dice < 96) return discover(session, tablet);
  return dice < 98 ? ask_blocked(session, tablet) : status(session);
}

Instant Workload::deadline(Session& session) {
  return session.executor.now() + Duration(2s) + Duration(1ms) * session.random.below(8'000);
}

Workload::Sent Workload::sent(const Session& session, Instant deadline) {
  return {session.executor.now(), deadline, paused_[session.client]};
}

bool Workload::answered(Session& session, Command command, Status status, const Sent& sent,
                        const std::string& what, const std::string& reason) {
  if (session.over) return false;
  history_.tally.add(command, status);
  if (history_.verbose()) {
    history_.say(fmt::format("client {} {} {}: {} {}", session.client, to_string(command), what,
                             blob::to_string(status), reason));
  }
  const Duration paused = paused_[session.client] - sent.paused;
  const Instant now = session.executor.now();
  if (now > sent.deadline + kAnswerSlack + paused) {
    history_.fail(fmt::format("{} {} was answered {:.3f} s after its deadline", to_string(command),
                              what, std::chrono::duration<double>(now - sent.deadline).count()));
  }
  if (status == Status::kError || status == Status::kNoGroup) {
    judge_error(session, command, status, sent, fmt::format("{} ({})", what, reason));
  }
  return true;
}

void Workload::judge_error(const Session& session, Command command, Status status, const Sent& sent,
                           const std::string& what) {
  if (!troubled_) return;
  const DiskSet set = troubled_(session.client, sent.at);
  if (!tolerated(cluster_.geometry(), set)) return;
  history_.fail(
      fmt::format("client {} got {} for {} {} sent at {:.3f} s, while only the members "
                  "{:b} were faulty, which is tolerated",
                  session.client, blob::to_string(status), to_string(command), what,
                  std::chrono::duration<double>(sent.at.since_start).count(), set));
}

// A new incarnation fences the old ones, finds the newest blob, and leads.
Task<void> Workload::boot(Session& session, TabletId tablet) {
  Generation& highest = generations_[tablet];
  const bool contested = highest > 1 && session.random.one_in(4);
  const Generation generation = contested ? highest : highest + 1;
  highest = std::max(highest, generation);
  BlockRequest request;
  request.tablet = tablet;
  request.generation = generation;
  request.deadline = deadline(session);
  request.issuer = session.random.next() | 1;
  const Sent at_sent = sent(session, request.deadline);
  if (request.blocked() > 0) {
    const Model::Ticket ticket = model_.block_sent(request);
    const BlockResult result = co_await session.proxy.block(request);
    const std::string what = fmt::format("tablet {} at {}", tablet.value, request.blocked());
    if (!answered(session, Command::kBlock, result.status, at_sent, what, result.reason)) {
      co_return;
    }
    model_.block_done(ticket, request, result);
    if (result.status != Status::kOk) co_return;
  }
  auto leader = std::make_shared<Incarnation>();
  leader->tablet = tablet;
  leader->generation = generation;
  auto& leaders = leaders_[tablet];
  const auto place = std::ranges::upper_bound(leaders, generation, {}, &Incarnation::generation);
  leaders.insert(place, std::move(leader));
}

Task<void> Workload::put_new(Session& session, Leader leader) {
  const BlobId id = new_id(session, *leader);
  leader->putting.insert(id);
  const Status status = co_await put(session, id, Command::kPut);
  leader->putting.erase(id);
  // A newer incarnation exists, or is about to; the next command boots one.
  if (status == Status::kBlocked) std::erase(leaders_[leader->tablet], leader);
}

Task<void> Workload::put_again(Session& session, TabletId tablet) {
  const BlobId id = some_blob(session, tablet);
  if (!model_.find(id)) co_return;
  (void)co_await put(session, id, Command::kRePut);
}

// By an incarnation that does not know yet that it is fenced.
Task<void> Workload::put_fenced(Session& session, TabletId tablet) {
  const Generation blocked = model_.tablet(tablet).blocked_agreed;
  if (blocked == 0) co_return;
  const Generation generation =
      blocked - static_cast<Generation>(session.random.below(std::min(blocked, 2u)));
  const BlobId id(tablet, generation, 1'000 + static_cast<Step>(session.random.below(1'000'000)), 0,
                  1 + static_cast<std::uint32_t>(session.random.below(500)), 0);
  (void)co_await put(session, id, Command::kFencedPut);
}

Task<Status> Workload::put(Session& session, BlobId id, Command command) {
  PutRequest request;
  request.id = id;
  request.data = blob_bytes(id);
  request.deadline = deadline(session);
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.put_sent(id);
  const PutResult result = co_await session.proxy.put(std::move(request));
  if (!answered(session, command, result.status, at_sent, id.to_string(), result.reason)) {
    co_return Status::kError;
  }
  model_.put_done(ticket, id, result);
  co_return result.status;
}

Task<void> Workload::get_some(Session& session, TabletId tablet) {
  GetRequest request;
  request.queries.push_back({some_blob(session, tablet), 0, 0});
  Command command = Command::kGet;
  const std::uint64_t dice = session.random.below(10);
  if (dice < 2) {
    GetQuery& query = request.queries.front();
    query.shift = static_cast<std::uint32_t>(session.random.below(query.id.size()));
    query.size = static_cast<std::uint32_t>(session.random.below(query.id.size()));
    command = Command::kGetRange;
  } else if (dice < 4) {
    for (std::uint64_t more = session.random.below(10); more > 0; --more) {
      request.queries.push_back({some_blob(session, tablet), 0, 0});
    }
    command = Command::kGetMany;
    request.must_restore = session.random.one_in(4);
  } else if (dice < 6) {
    request.must_restore = true;
    command = Command::kRestoringGet;
  } else if (dice == 6) {
    request.index_only = true;
    request.must_restore = session.random.one_in(2);
    command = Command::kIndexGet;
  }
  co_await get(session, std::move(request), command);
}

Task<void> Workload::get(Session& session, GetRequest request, Command command) {
  request.deadline = deadline(session);
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.get_sent(request);
  const GetResult result = co_await session.proxy.get(request);
  const Status status = result.status == Status::kOk && result.items.size() == 1
                            ? result.items.front().status
                            : result.status;
  const std::string what = request.queries.front().id.to_string();
  if (!answered(session, command, status, at_sent, what, result.reason)) co_return;
  model_.get_done(ticket, request, result);
}

Task<void> Workload::collect(Session& session, Leader leader) {
  if (leader->collecting) co_return;
  CollectRequest request;
  if (!plan_collect(session, *leader, request)) co_return;
  request.deadline = deadline(session);
  ++leader->next_counter;
  leader->collecting = true;
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.collect_sent(request);
  const CollectResult result = co_await session.proxy.collect(request);
  leader->collecting = false;
  const GenStep at = request.barrier.value_or(GenStep{});
  const std::string what = fmt::format(
      "tablet {} channel {} {}:{} {} at {}:{}, keep {}, do not keep {}", request.tablet.value,
      request.channel, request.record_generation, request.counter, request.hard ? "hard" : "soft",
      at.generation, at.step, request.keep.size(), request.do_not_keep.size());
  if (!answered(session, Command::kCollect, result.status, at_sent, what, result.reason)) {
    co_return;
  }
  model_.collect_done(ticket, request, result);
}

Task<void> Workload::range(Session& session, TabletId tablet) {
  RangeRequest request;
  const auto channel = static_cast<Channel>(session.random.below(2));
  request.from = BlobId::lowest(tablet, channel);
  request.to = BlobId::highest(tablet, channel);
  if (session.random.one_in(2)) std::swap(request.from, request.to);
  request.must_restore = session.random.one_in(3);
  request.index_only = !session.random.one_in(4);
  if (!request.index_only || session.random.one_in(2)) {
    request.limit = 1 + static_cast<std::uint32_t>(session.random.below(20));
  }
  request.deadline = deadline(session);
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.range_sent(request);
  const RangeResult result = co_await session.proxy.range(request);
  const std::string what = fmt::format("tablet {} channel {}", tablet.value, channel);
  if (!answered(session, Command::kRange, result.status, at_sent, what, result.reason)) co_return;
  model_.range_done(ticket, request, result);
}

Task<void> Workload::discover(Session& session, TabletId tablet) {
  DiscoverRequest request;
  request.tablet = tablet;
  request.read_body = session.random.one_in(2);
  request.discover_blocked = session.random.one_in(2);
  if (session.random.one_in(3)) {
    // As a booting incarnation does: a generation that it has already fenced, or is about to.
    const Generation highest = std::max<Generation>(1, generations_[tablet]);
    request.force_blocked_generation =
        std::max<Generation>(1, highest - static_cast<Generation>(session.random.below(2)));
  }
  request.deadline = deadline(session);
  const bool forced = request.force_blocked_generation != 0;
  const Command command = forced ? Command::kForcedDiscover : Command::kDiscover;
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.discover_sent(request);
  const DiscoverResult result = co_await session.proxy.discover(request);
  const std::string what =
      fmt::format("tablet {} force {}", tablet.value, request.force_blocked_generation);
  if (!answered(session, command, result.status, at_sent, what, result.reason)) co_return;
  model_.discover_done(ticket, request, result);
}

Task<void> Workload::ask_blocked(Session& session, TabletId tablet) {
  GetBlockRequest request;
  request.tablet = tablet;
  request.deadline = deadline(session);
  const Sent at_sent = sent(session, request.deadline);
  const Model::Ticket ticket = model_.blocked_sent(tablet);
  const GetBlockResult result = co_await session.proxy.blocked_generation(request);
  const std::string what = fmt::format("tablet {}", tablet.value);
  if (!answered(session, Command::kBlockedGeneration, result.status, at_sent, what,
                result.reason)) {
    co_return;
  }
  model_.blocked_done(ticket, tablet, result);
}

Task<void> Workload::status(Session& session) {
  StatusRequest request;
  request.deadline = deadline(session);
  const Sent at_sent = sent(session, request.deadline);
  const StatusResult result = co_await session.proxy.status(request);
  (void)answered(session, Command::kStatus, result.status, at_sent, "group", result.reason);
}

}  // namespace moraine::sim
