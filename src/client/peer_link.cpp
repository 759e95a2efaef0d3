#include "client/peer_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace moraine {
namespace {

constexpr Duration kFollowPause = 500ms;  // After a wait has failed.
constexpr Duration kReplySlack = 1s;      // For the reply of a wait.
// Between waits: while many partitions are watched, several of them move meanwhile.
constexpr Duration kPausePerWatched = 10us;

static_assert(kEndWait + kReplySlack <= kAttemptTimeout);

std::uint32_t micros(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return static_cast<std::uint32_t>(std::max<std::int64_t>(count, 0));
}

Attempt failed(Errc code, std::string why, bool sent = false) {
  return {fail(code, std::move(why)), sent};
}

// A peer of another version does not carry out requests of this one.
Attempt attempt_of(const Slice& answer, std::size_t kind) {
  Result<PartitionReply> reply = decode_partition_reply(answer);
  if (!reply && reply.error().code == Errc::kUnsupported) return {std::move(reply), false};
  if (!reply) return failed(Errc::kUnavailable, reply.error().message(), true);
  if (reply->kind == 0 && !reply->status) return {std::unexpected(reply->status.error()), false};
  if (reply->kind != kind) return failed(Errc::kUnavailable, "a reply to another request", true);
  return {std::move(reply), true};
}

}  // namespace

bool PeerLink::reserve(std::size_t more) {
  if (bytes_ + more > kPeerBytesMax) return false;
  bytes_ += more;
  return true;
}

Task<Attempt> PeerLink::call(TabletId tablet, queue::PartitionIndex index, PartitionCall call,
                             Instant deadline) {
  const auto self = shared_from_this();
  const Duration left = deadline - lane_.now();
  if (closed_) co_return failed(Errc::kUnavailable, "this node is being stopped");
  if (left < 1us) co_return failed(Errc::kTimeout, "the deadline has passed");
  const PartitionRequest request{tablet, index, micros(left), std::move(call)};
  Slice frame = encode(request);
  if (frame.size() > kFrameBytesMax) {
    co_return failed(Errc::kInvalidArgument,
                     fmt::format("a request of {} bytes is too long", frame.size()));
  }
  const Answer pending = begin_call(std::move(frame), deadline);
  const Result<Slice> answer = co_await *pending;
  if (answer) co_return attempt_of(*answer, kind_of(request.call));
  const bool sent = answer.error().code != Errc::kOverloaded;
  // The peer's network refuses a reply, for one: that does not say what became of the request.
  const bool lost = answer.error().code != Errc::kTimeout && sent;
  co_return failed(lost ? Errc::kUnavailable : answer.error().code, answer.error().context, sent);
}

PeerLink::Answer PeerLink::begin_call(Slice frame, Instant deadline) {
  const auto answer = std::make_shared<OneShot<Result<Slice>>>();
  const std::uint64_t id = next_call_++;
  pending_.emplace(id, answer);
  ++calls_;
  spawn(carry(shared_from_this(), std::move(frame), deadline, id, answer));
  return answer;
}

Task<void> PeerLink::carry(std::shared_ptr<PeerLink> self, Slice frame, Instant deadline,
                           std::uint64_t id, Answer answer) {
  Result<Slice> reply = co_await self->network_.call(self->node_, std::move(frame), deadline);
  self->pending_.erase(id);
  if (--self->calls_ == 0) self->idle_.notify_all();
  answer->set(std::move(reply));
}

void PeerLink::close() {
  if (std::exchange(closed_, true)) return;
  ends_wait_ = wait_ != nullptr;
  pause_.notify_all();
  for (const auto& [id, answer] : std::exchange(pending_, {})) {
    answer->set(fail(Errc::kUnavailable, "this node is being stopped"));
  }
}

Task<void> PeerLink::join(std::shared_ptr<PeerLink> link) {
  // Another wait ends the one in flight.
  if (std::exchange(link->ends_wait_, false)) {
    const PartitionRequest none{{}, 0, micros(kReplySlack), WaitCall{link->waiter_, {}}};
    (void)link->begin_call(encode(none), link->lane_.now() + kReplySlack);
  }
  while (link->calls_ > 0) co_await link->idle_.wait();
}

SessionName PeerLink::take_unclosed(TabletId tablet, queue::PartitionIndex index) {
  const auto found = unclosed_.find({tablet, index});
  if (found == unclosed_.end()) return {};
  const SessionName session = found->second;
  unclosed_.erase(found);
  return session;
}

void PeerLink::note_closed(TabletId tablet, queue::PartitionIndex index, SessionName session) {
  const auto found = unclosed_.find({tablet, index});
  if (found != unclosed_.end() && found->second == session) unclosed_.erase(found);
}

// The wait in flight does not know the partition: another one replaces it.
std::uint64_t PeerLink::follow(std::weak_ptr<FollowedEnd> partition) {
  const std::uint64_t id = next_followed_++;
  followed_.emplace(id, std::move(partition));
  if (!std::exchange(following_, true)) {
    spawn(follow_ends(shared_from_this()));
  } else if (const Answer replaced = std::exchange(wait_, nullptr)) {
    lane_.post([replaced] { replaced->set(fail(Errc::kUnavailable, "replaced")); });
  }
  return id;
}

WaitCall PeerLink::next_wait(std::vector<std::uint64_t>& ids) {
  std::erase_if(followed_, [](const auto& one) { return one.second.expired(); });
  WaitCall call{waiter_, {}};
  auto at = followed_.upper_bound(waited_to_);
  const std::size_t count = std::min(followed_.size(), kWatchedPerCallMax);
  while (ids.size() < count) {
    if (at == followed_.end()) at = followed_.begin();
    ids.push_back(at->first);
    call.watched.push_back(at->second.lock()->known_end());
    ++at;
  }
  waited_to_ = followed_.size() > count ? ids.back() : 0;
  return call;
}

// False: it has failed.
Task<bool> PeerLink::wait_once() {
  std::vector<std::uint64_t> ids;
  WaitCall watched = next_wait(ids);
  if (ids.empty()) co_return true;
  const std::size_t kind = kind_of(PartitionCall(WaitCall()));
  const PartitionRequest request{{}, 0, micros(kEndWait), std::move(watched)};
  const Answer pending = begin_call(encode(request), lane_.now() + kEndWait + kReplySlack);
  wait_ = pending;
  const Result<Slice> answer = co_await *pending;
  if (wait_ != pending) co_return true;  // Replaced.
  wait_ = nullptr;
  if (!answer) co_return false;
  const Attempt attempt = attempt_of(*answer, kind);
  if (!attempt.reply || attempt.reply->refusal != Refusal::kNone) co_return false;
  for (const MovedEnd& moved : attempt.reply->moved) {
    if (moved.index >= ids.size()) co_return false;
    const auto found = followed_.find(ids[moved.index]);
    const auto partition = found == followed_.end() ? nullptr : found->second.lock();
    if (partition) partition->note_end(moved);
  }
  co_await pause_until(lane_.now() + kPausePerWatched * ids.size());
  co_return true;
}

Task<void> PeerLink::follow_ends(std::shared_ptr<PeerLink> self) {
  // What is watched in this turn is in the same wait.
  co_await yield(self->lane_);
  while (!self->closed_ && !self->followed_.empty()) {
    if (!co_await self->wait_once()) {
      co_await self->pause_until(self->lane_.now() + kFollowPause);
    }
  }
  self->following_ = false;
}

}  // namespace moraine
