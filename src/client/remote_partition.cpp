#include "client/remote_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "queue/fact_counts.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::Offset;
using queue::StoredEntry;

constexpr Duration kRetryPause = 50ms;
constexpr std::size_t kFramesBytes = 4 << 10;  // A request and its reply, without long texts.
constexpr std::size_t kRoomMin = std::size_t{64} << 10;

bool no_reply(const Error& error) {
  return error.code == Errc::kTimeout || error.code == Errc::kUnavailable;
}

Error error_of(const PartitionReply& reply) {
  return reply.status ? Error{Errc::kUnavailable, "the request was refused"} : reply.status.error();
}

std::unexpected<Error> moved_away() {
  return fail(Errc::kNotHere, "the partition runs elsewhere now");
}

// The reply is one of the incarnation before, or does not fit.
std::unexpected<Error> started_again() {
  return fail(Errc::kUnavailable, "the partition was started again meanwhile");
}

}  // namespace

std::shared_ptr<RemotePartition> RemotePartitions::make(NodeId node, TabletId tablet,
                                                        queue::PartitionIndex index) {
  PeerLinkPtr& link = links_[node];
  if (!link) {
    link = std::make_shared<PeerLink>(lane_, network_, node, waiter_);
    if (closed_) link->close();
  }
  return RemotePartition::make(link, tablet, index);
}

void RemotePartitions::close() {
  closed_ = true;
  for (const auto& [node, link] : links_) link->close();
}

Task<void> RemotePartitions::stop() {
  close();
  const auto links = links_;
  for (const auto& [node, link] : links) co_await PeerLink::join(link);
}

RemotePartition::RemotePartition(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index)
    : link_(std::move(link)), tablet_(tablet), index_(index) {}

std::shared_ptr<RemotePartition> RemotePartition::make(PeerLinkPtr link, TabletId tablet,
                                                       queue::PartitionIndex index) {
  const std::shared_ptr<RemotePartition> made(new RemotePartition(std::move(link), tablet, index));
  made->changes_ = std::make_shared<RemoteChanges>(
      made->link_, tablet, index, [weak = std::weak_ptr(made)](const PartitionReply& reply) {
        if (const auto self = weak.lock()) self->note(reply);
      });
  return made;
}

RemotePartition::~RemotePartition() {
  if (follows_ != 0) link_->unfollow(follows_);
}

void RemotePartition::abandon() {
  const auto self = shared_from_this();
  abandoned_ = true;
  {
    const std::lock_guard lock(mirror_.mutex);
    mirror_.stopped = true;
  }
  if (follows_ != 0) link_->unfollow(std::exchange(follows_, 0));
  changes_->abandon();
  notify();
}

// Reads.

Task<RemotePartition::Reply> RemotePartition::ask(PartitionCall call, std::size_t bytes) {
  const auto self = shared_from_this();
  if (!link_->reserve(bytes)) {
    co_return fail(Errc::kOverloaded, fmt::format("{} bytes are in flight to node {}",
                                                  link_->bytes(), link_->node().value));
  }
  const Instant deadline = link_->now() + kReadTimeout;
  Reply reply = fail(Errc::kTimeout, "the deadline has passed");
  while (!abandoned_) {
    const Instant end = std::min(deadline, link_->now() + kAttemptTimeout);
    reply = (co_await link_->call(tablet_, index_, call, end)).reply;
    if (reply) note(*reply);
    const Refusal refusal = reply ? reply->refusal : Refusal::kNone;
    const bool again = reply ? refusal == Refusal::kOverloaded || refusal == Refusal::kExpired
                             : no_reply(reply.error());
    if (refusal != Refusal::kNone) reply = std::unexpected(error_of(*reply));
    if (!again || link_->closed() || link_->now() + kRetryPause >= deadline) break;
    co_await link_->pause_until(link_->now() + kRetryPause);
  }
  link_->release(bytes);
  if (abandoned_) co_return moved_away();
  if (reply && !reply->status) co_return std::unexpected(std::move(reply->status).error());
  co_return reply;
}

template <class Call>
Task<RemotePartition::Reply> RemotePartition::ask_with_room(Call call, std::size_t room) {
  for (;;) {
    call.room = static_cast<std::uint32_t>(room);
    CO_TRY(PartitionReply reply, co_await ask(call, room + kFramesBytes));
    if (reply.needs == 0) co_return reply;
    if (reply.needs > kReplyRoomMax) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("a message of {} bytes is too long to be read from another node",
                                 reply.needs));
    }
    // It grows each time, so this ends.
    if (reply.needs <= room) co_return fail(Errc::kUnavailable, "a reply without its entry");
    room = reply.needs;
  }
}

Task<Result<queue::ReadAnswer>> RemotePartition::read(queue::ReadRequest request) {
  const auto self = shared_from_this();
  ReadCall call;
  call.offset = request.offset;
  call.bytes_max =
      static_cast<std::uint32_t>(std::min<std::size_t>(request.bytes_max, kPartitionPageBytes));
  call.entries_max =
      static_cast<std::uint32_t>(std::min<std::size_t>(request.entries_max, kEntriesPerReplyMax));
  const std::size_t room = std::max<std::size_t>(call.bytes_max, kRoomMin);
  CO_TRY(PartitionReply reply, co_await ask_with_room(call, room));
  co_return queue::ReadAnswer{std::move(reply.entries), reply.start, reply.end};
}

template <class Call>
Task<Result<std::optional<StoredEntry>>> RemotePartition::find(Call call) {
  const auto self = shared_from_this();
  CO_TRY(PartitionReply reply, co_await ask_with_room(call, kRoomMin));
  if (reply.entries.empty()) co_return std::optional<StoredEntry>();
  co_return std::optional(std::move(reply.entries.front()));
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_time(std::int64_t time_ms) {
  return find(FindTimeCall{0, time_ms, 0});
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_time_from(Offset from,
                                                                         std::int64_t time_ms) {
  return find(FindTimeCall{from, time_ms, 0});
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_newest() {
  return find(FindNewestCall{});
}

// The figures, as of the replies.

bool RemotePartition::note_incarnation(std::uint64_t incarnation) {
  if (incarnation == mirror_.earlier_incarnation) return false;
  if (incarnation == mirror_.incarnation) return true;
  mirror_.earlier_incarnation = std::exchange(mirror_.incarnation, incarnation);
  std::erase_if(mirror_.consumers, [](const auto& one) { return !one.second.offset; });
  for (auto& [name, consumer] : mirror_.consumers) consumer.moment = 0;
  return true;
}

// Replies may overtake each other.
void RemotePartition::note(const PartitionReply& reply) {
  {
    const std::lock_guard lock(mirror_.mutex);
    if (abandoned_) return;
    if (reply.refusal == Refusal::kNotHere) mirror_.stopped = true;
    if (reply.refusal == Refusal::kNotHere || reply.incarnation == 0) return;
    if (!note_incarnation(reply.incarnation) || reply.refusal != Refusal::kNone) return;
    mirror_.stopped = reply.stopped;
    const bool other = std::exchange(mirror_.info_of, reply.incarnation) != reply.incarnation;
    const bool newer = reply.info.end >= mirror_.info.end && reply.info.start >= mirror_.info.start;
    if (other || newer) mirror_.info = reply.info;
  }
  changes_->note_incarnation(reply.incarnation);
}

queue::PartitionInfo RemotePartition::info() const {
  const std::lock_guard lock(mirror_.mutex);
  return mirror_.info;
}

bool RemotePartition::stopped() const {
  const std::lock_guard lock(mirror_.mutex);
  return mirror_.stopped;
}

std::optional<ConsumerOffset> RemotePartition::committed(const std::string& consumer) const {
  const std::lock_guard lock(mirror_.mutex);
  const auto found = mirror_.consumers.find(consumer);
  if (found == mirror_.consumers.end()) return std::nullopt;
  return found->second.offset;
}

std::vector<ConsumerOffset> RemotePartition::all_committed() const {
  const std::lock_guard lock(mirror_.mutex);
  std::vector<ConsumerOffset> all;
  for (const auto& [name, consumer] : mirror_.consumers) {
    if (consumer.offset) all.push_back(*consumer.offset);
  }
  return all;
}

// That it was forgotten is kept while a refresh may find it.
bool RemotePartition::note_consumer(const std::string& name, std::optional<ConsumerOffset> offset,
                                    const PartitionReply& reply) {
  const std::lock_guard lock(mirror_.mutex);
  if (!note_incarnation(reply.incarnation)) return false;
  Consumer& known = mirror_.consumers[name];
  if (known.moment > reply.moment) return true;
  known = {std::move(offset), reply.moment};
  if (known.offset) return true;
  if (refreshing_ == 0) mirror_.consumers.erase(name);
  if (refreshing_ > 0) mirror_.forgotten = true;
  return true;
}

// What the page does not name, between its first and last, is forgotten; newer changes are kept.
Result<void> RemotePartition::note_page(const std::string& after, PartitionReply& page) {
  const std::string* before = &after;
  for (const ConsumerOffset& offset : page.consumers) {
    if (offset.consumer <= *before) {
      return fail(Errc::kUnavailable, "the other node lists consumers out of order");
    }
    before = &offset.consumer;
  }
  if (page.more && page.consumers.empty()) {
    return fail(Errc::kUnavailable, "the other node lists no consumers");
  }
  const std::lock_guard lock(mirror_.mutex);
  if (!note_incarnation(page.incarnation)) return started_again();
  for (auto at = mirror_.consumers.upper_bound(after);
       at != mirror_.consumers.end() && (!page.more || at->first <= *before);) {
    at = at->second.moment < page.moment ? mirror_.consumers.erase(at) : std::next(at);
  }
  for (ConsumerOffset& offset : page.consumers) {
    Consumer& known = mirror_.consumers[offset.consumer];
    if (known.moment < page.moment) known = {std::move(offset), page.moment};
  }
  if (mirror_.consumers.size() <= queue::kNodeConsumersMax) return {};
  mirror_.consumers.clear();
  return fail(Errc::kOverloaded,
              fmt::format("the other node lists more than {} consumers", queue::kNodeConsumersMax));
}

Task<Result<void>> RemotePartition::read_consumers() {
  DescribeCall call{Described::kConsumers, {}};
  for (bool more = true; more;) {
    CO_TRY(PartitionReply page, co_await ask(call, kConsumersReplyBytes));
    more = page.more;
    std::string last = page.consumers.empty() ? std::string() : page.consumers.back().consumer;
    CO_TRY_VOID(note_page(call.name, page));
    call.name = std::move(last);
  }
  co_return Result<void>();
}

Task<Result<void>> RemotePartition::refresh() {
  const auto self = shared_from_this();
  ++refreshing_;
  const Result<void> done = co_await read_consumers();
  end_refresh();
  co_return done;
}

void RemotePartition::end_refresh() {
  if (--refreshing_ > 0) return;
  const std::lock_guard lock(mirror_.mutex);
  if (!std::exchange(mirror_.forgotten, false)) return;
  std::erase_if(mirror_.consumers, [](const auto& one) { return !one.second.offset; });
}

Task<Result<void>> RemotePartition::refresh_info() {
  const auto self = shared_from_this();
  CO_TRY_VOID(co_await ask(DescribeCall{Described::kFigures, {}}, kFramesBytes));
  co_return Result<void>();
}

Task<Result<void>> RemotePartition::refresh_committed(std::string consumer) {
  const auto self = shared_from_this();
  const std::size_t bytes = kFramesBytes + consumer.size() + queue::kConsumerMetadataBytesMax;
  ++refreshing_;
  Reply reply = co_await ask(DescribeCall{Described::kConsumer, consumer}, bytes);
  const bool noted = reply && note_described(consumer, *reply);
  end_refresh();
  if (!reply) co_return std::unexpected(std::move(reply).error());
  if (!noted) co_return started_again();
  co_return Result<void>();
}

bool RemotePartition::note_described(const std::string& name, PartitionReply& reply) {
  std::optional<ConsumerOffset> found;
  if (!reply.consumers.empty()) found = std::move(reply.consumers.front());
  if (found && found->consumer != name) return false;
  return note_consumer(name, std::move(found), reply);
}

// Changes.

std::shared_ptr<OneShot<queue::WriteAnswer>> RemotePartition::write(queue::WriteRequest request) {
  return changes_->write(std::move(request));
}

Task<Result<void>> RemotePartition::commit(ConsumerOffset offset) {
  const auto self = shared_from_this();
  if (offset.consumer.size() > queue::kConsumerNameBytesMax ||
      offset.metadata.size() > queue::kConsumerMetadataBytesMax) {
    co_return fail(Errc::kInvalidArgument, "the consumer's name or metadata is too long");
  }
  const std::size_t texts = offset.consumer.size() + offset.metadata.size();
  CO_TRY(const PartitionReply reply,
         co_await changes_->change(CommitOffsetCall{{}, offset}, texts));
  (void)note_consumer(offset.consumer, offset, reply);
  co_return Result<void>();
}

Task<Result<void>> RemotePartition::forget_consumer(std::string consumer) {
  const auto self = shared_from_this();
  CO_TRY(const PartitionReply reply,
         co_await changes_->change(ForgetConsumerCall{{}, consumer}, consumer.size()));
  (void)note_consumer(consumer, std::nullopt, reply);
  co_return Result<void>();
}

Task<Result<Offset>> RemotePartition::trim(Offset offset) {
  const auto self = shared_from_this();
  CO_TRY(const PartitionReply reply, co_await changes_->change(TrimCall{{}, offset}, 0));
  co_return reply.start;
}

// Watches.

std::uint64_t RemotePartition::watch(Callback moved) {
  const std::uint64_t id = next_watch_++;
  watches_.emplace(id, std::make_shared<Watch>(std::move(moved)));
  if (follows_ == 0 && !abandoned_) {
    // The first reply notifies: the end may have moved before.
    followed_ = {tablet_, index_, 0, 0, false};
    follows_ = link_->follow(weak_from_this());
  }
  return id;
}

void RemotePartition::unwatch(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  found->second->active = false;
  watches_.erase(found);
  if (watches_.empty() && follows_ != 0) link_->unfollow(std::exchange(follows_, 0));
}

// A callback may watch and unwatch.
void RemotePartition::notify() {
  std::vector<std::shared_ptr<Watch>> called;
  for (const auto& [id, watch] : watches_) called.push_back(watch);
  for (const auto& watch : called) {
    if (watch->active) watch->callback();
  }
}

void RemotePartition::note_end(const MovedEnd& moved) {
  PartitionReply as_reply;
  as_reply.refusal = moved.incarnation == 0 ? Refusal::kNotHere : Refusal::kNone;
  as_reply.incarnation = moved.incarnation;
  as_reply.stopped = moved.stopped;
  as_reply.info = moved.info;
  note(as_reply);
  followed_.stopped = moved.stopped;
  if (moved.incarnation != 0) {
    followed_.incarnation = moved.incarnation;
    followed_.end = moved.info.end;
  }
  notify();
}

}  // namespace moraine
