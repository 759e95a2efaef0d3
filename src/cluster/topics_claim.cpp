#include "cluster/topics_claim.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/node_bug.h"
#include "base/sealed.h"
#include "cluster/tablet_ids.h"

namespace moraine {
namespace {

constexpr std::uint8_t kClaimVersion = 1;
constexpr int kHeartbeatsToNotice = 2;

std::unexpected<Error> refused(std::string_view what, blob::Status status,
                               const std::string& reason) {
  const bool taken = status == blob::Status::kAlready || status == blob::Status::kBlocked;
  return fail(taken ? Errc::kConflict : Errc::kUnavailable,
              fmt::format("claim of topics: {}: {} {}", what, to_string(status), reason));
}

Error served_by(const ClaimHolder& holder) {
  return {Errc::kConflict,
          fmt::format(
              "node {} serves the topics of this cluster (kafka {}), and only one node does. Send "
              "clients there, or stop it, or start this node with --take-over; --kafka off "
              "serves blobs only",
              holder.node, holder.address)};
}

}  // namespace

Slice encode_claim(const ClaimHolder& holder) {
  Encoder encoder;
  encoder.u8(kClaimVersion).u32(holder.node).flag(holder.released).sized(holder.address);
  return seal(std::move(encoder));
}

Result<ClaimHolder> decode_claim(ByteSpan bytes) {
  TRY(const ByteSpan inside, unseal(bytes));
  Decoder decoder(inside);
  if (decoder.u8() != kClaimVersion) {
    return fail(Errc::kUnsupported, "a claim of topics of another version");
  }
  ClaimHolder holder;
  holder.node = decoder.u32();
  const std::uint8_t released = decoder.u8();
  holder.released = released == 1;
  holder.address = std::string(as_text(decoder.sized()));
  if (!decoder.finished() || released > 1) return fail(Errc::kCorrupt, "a claim of topics");
  return holder;
}

// The claim of the newest holder. nullopt: there was none.
Task<Result<std::optional<TopicsClaim::Seen>>> TopicsClaim::read_newest() {
  blob::DiscoverRequest request;
  request.tablet = kTopicsClaimTabletId;
  request.read_body = true;
  request.discover_blocked = true;
  request.deadline = deadline();
  const blob::DiscoverResult found = co_await group_.discover(request);
  Seen seen;
  seen.blocked = found.blocked;
  if (found.status == blob::Status::kNoData) {
    if (found.blocked == 0) co_return std::optional<Seen>();
    // A holder that died between its block and its first blob.
    seen.holder.released = true;
    co_return std::optional<Seen>(seen);
  }
  if (found.status != blob::Status::kOk) co_return refused("discover", found.status, found.reason);
  seen.id = found.id;
  CO_TRY(seen.holder, decode_claim(found.body));
  co_return std::optional<Seen>(seen);
}

// Two nodes that race choose the same generation, and one of them is refused: a block has one
// issuer. The first generation is 2, since generation 1 must exist to be blocked.
Task<Result<void>> TopicsClaim::fence(const std::optional<Seen>& before) {
  generation_ = before ? std::max(before->id.generation(), before->blocked) + 2 : 2;
  blob::BlockRequest request;
  request.tablet = kTopicsClaimTabletId;
  request.generation = generation_;
  request.deadline = deadline();
  const blob::BlockResult blocked = co_await group_.block(request);
  if (blocked.status != blob::Status::kOk) {
    co_return refused("block", blocked.status, blocked.reason);
  }
  co_return Result<void>();
}

Task<Result<void>> TopicsClaim::write() {
  blob::PutRequest request;
  request.data = encode_claim(self_);
  // A failed put may have left parts: the same bytes are put under the same id.
  if (written_ || unwritten_ != self_) ++step_;
  written_ = false;
  unwritten_ = self_;
  request.id = BlobId(kTopicsClaimTabletId, generation_, step_, 0,
                      static_cast<std::uint32_t>(request.data.size()), 0);
  request.deadline = deadline();
  const blob::PutResult put = co_await group_.put(std::move(request));
  if (put.status != blob::Status::kOk) co_return refused("put", put.status, put.reason);
  written_ = true;
  blob::CollectRequest collect;
  collect.tablet = kTopicsClaimTabletId;
  collect.record_generation = generation_;
  collect.counter = ++collects_;
  collect.barrier =
      step_ > 1 ? GenStep{generation_, step_ - 1} : GenStep{generation_ - 1, ~Step{0}};
  collect.deadline = deadline();
  // What is not collected now is collected with the next heartbeat.
  (void)co_await group_.collect(std::move(collect));
  co_return Result<void>();
}

Task<Result<std::unique_ptr<TopicsClaim>>> TopicsClaim::take(World world, blob::Proxy& group,
                                                             ClaimHolder self,
                                                             ClaimOptions options) {
  std::unique_ptr<TopicsClaim> claim(new TopicsClaim(world, group, std::move(self), options));
  CO_TRY(std::optional<Seen> seen, co_await claim->read_newest());
  const bool others = seen && !seen->holder.released && seen->holder.node != claim->self_.node;
  bool alive = false;
  if (others) {
    log_info("another node has served topics; checking whether it still does",
             {{"node", seen->holder.node}, {"kafka", seen->holder.address}});
    const Instant until = world.executor.now() + options.silence;
    while (!alive && world.executor.now() < until) {
      co_await sleep_for(world.executor, options.heartbeat);
      CO_TRY(std::optional<Seen> again, co_await claim->read_newest());
      alive = again && again->id != seen->id && !again->holder.released;
      if (again && again->holder.released) break;
      if (alive) seen = std::move(again);
    }
    if (alive && !options.take_over) co_return std::unexpected(served_by(seen->holder));
    CO_TRY(seen, co_await claim->read_newest());
  }
  CO_TRY_VOID(co_await claim->fence(seen));
  CO_TRY_VOID(co_await claim->write());
  if (alive) {
    log_warning("topics are taken over from a node that serves them",
                {{"node", seen->holder.node}});
    co_await sleep_for(world.executor, kHeartbeatsToNotice * options.heartbeat);
  }
  claim->scope_.spawn(claim->run_heartbeats());
  co_return std::move(claim);
}

Task<void> TopicsClaim::run_heartbeats() {
  while (!scope_.closed() && !lost_) {
    co_await wakes_.wait_until(world_.executor.now() + options_.heartbeat, scope_);
    if (scope_.closed()) break;
    ++beats_begun_;
    const auto written = co_await write();
    lost_ = !written && written.error().code == Errc::kConflict && !scope_.closed() &&
            !has_bug(NodeBug::kKeepLostClaim);
    beats_ended_ = beats_begun_;
    beaten_.notify_all();
    if (written && std::exchange(renewal_failed_, false)) {
      log_info("the claim of topics is renewed again");
    }
    if (!written && written.error().code != Errc::kConflict &&
        !std::exchange(renewal_failed_, true)) {
      log_warning("the claim of topics cannot be renewed; retrying every second",
                  {{"error", written.error()}});
    }
    if (!lost_) continue;
    log_error("another node has taken the topics over; this node serves them no longer",
              {{"error", written.error()}});
    if (on_lost_) std::exchange(on_lost_, nullptr)();
  }
}

Task<bool> TopicsClaim::confirm() {
  const std::uint64_t wanted = beats_begun_ + 1;
  wakes_.set();
  while (beats_ended_ < wanted && !lost_ && !scope_.closed()) {
    co_await beaten_.wait(scope_);
  }
  co_return !lost_;
}

void TopicsClaim::abandon() {
  scope_.close();
}

Task<void> TopicsClaim::stop() {
  abandon();
  co_await scope_.join();
  if (lost_) co_return;
  self_.released = true;
  (void)co_await write();
}

}  // namespace moraine
