#include "client/remote_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::Offset;
using queue::StoredEntry;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;

constexpr Duration kRetryPause = 50ms;
constexpr Duration kFollowPause = 500ms;   // After a wait for the end has failed.
constexpr std::size_t kChangeBytes = 512;  // Of a change beside its texts.
constexpr Duration kReplySlack = 2s;       // For the reply of a wait.

WriteAnswer answer_of(WriteStatus status, std::string detail) {
  WriteAnswer answer;
  answer.status = status;
  answer.detail = std::move(detail);
  return answer;
}

std::shared_ptr<OneShot<WriteAnswer>> answered(WriteStatus status, std::string detail) {
  const auto done = std::make_shared<OneShot<WriteAnswer>>();
  done->set(answer_of(status, std::move(detail)));
  return done;
}

std::string problem_of(const WriteRequest& request) {
  if (request.payload.size() > queue::kPayloadBytesMax) {
    return fmt::format("a payload of {} bytes; at most {} are possible", request.payload.size(),
                       queue::kPayloadBytesMax);
  }
  if (request.producer.source_id.size() > queue::kSourceIdBytesMax) {
    return fmt::format("the source id has {} bytes", request.producer.source_id.size());
  }
  return {};
}

// Without a number, the partition does not know a duplicate. Parts of a message continue each
// other.
bool sent_once(const WriteRequest& request) {
  return request.producer.numbering == queue::Numbering::kNone || request.parts > 1;
}

bool no_reply(const Error& error) {
  return error.code == Errc::kTimeout || error.code == Errc::kUnavailable;
}

Error error_of(const PartitionReply& reply) {
  return reply.status ? Error{Errc::kUnavailable, "the request was refused"} : reply.status.error();
}

}  // namespace

bool PeerLink::reserve(std::size_t more) {
  if (bytes + more > kPeerBytesMax) return false;
  bytes += more;
  return true;
}

std::shared_ptr<RemotePartition> RemotePartitions::make(NodeId node, TabletId tablet,
                                                        queue::PartitionIndex index) {
  PeerLinkPtr& link = links_[node];
  if (!link) {
    link = std::make_shared<PeerLink>(lane_, network_, node);
    link->closed = closed_;
  }
  return std::make_shared<RemotePartition>(link, tablet, index);
}

void RemotePartitions::close() {
  closed_ = true;
  for (const auto& [node, link] : links_) {
    link->closed = true;
    link->pause.notify_all();
  }
}

RemotePartition::RemotePartition(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index)
    : link_(std::move(link)), tablet_(tablet), index_(index), refusals_({}, link_->lane.now()) {
  refusals_.nothing_refused_before();
}

Task<RemotePartition::Reply> RemotePartition::send(PeerLinkPtr link, TabletId tablet,
                                                   queue::PartitionIndex index, PartitionCall call,
                                                   Instant deadline) {
  const Duration left = deadline - link->lane.now();
  if (link->closed) co_return fail(Errc::kUnavailable, "this node is being stopped");
  if (left < 1us) co_return fail(Errc::kTimeout, "the deadline has passed");
  const std::size_t kind = call.index();
  PartitionRequest request{tablet, index, 0, std::move(call)};
  const bool waits = std::holds_alternative<WaitCall>(request.call);
  const Duration there = std::max(waits ? left - kReplySlack : left, Duration(0));
  request.timeout_us = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(there).count());
  Slice frame = encode(request);
  if (frame.size() > kFrameBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("a request of {} bytes is too long", frame.size()));
  }
  CO_TRY(const Slice answer, co_await link->network.call(link->node, std::move(frame), deadline));
  Result<PartitionReply> reply = decode_partition_reply(answer);
  if (!reply) co_return fail(Errc::kUnavailable, reply.error().message());
  if (reply->kind != kind) co_return fail(Errc::kUnavailable, "a reply to another request");
  co_return reply;
}

Task<RemotePartition::Reply> RemotePartition::ask(PartitionCall call, std::size_t bytes) {
  const auto self = shared_from_this();
  if (!link_->reserve(bytes)) {
    co_return fail(Errc::kOverloaded, fmt::format("{} bytes are in flight", link_->bytes));
  }
  const Instant deadline = link_->lane.now() + kReadTimeout;
  for (;;) {
    const Instant now = link_->lane.now();
    Reply reply =
        co_await send(link_, tablet_, index_, call, std::min(deadline, now + kAttemptTimeout));
    if (reply) note(*reply);
    const bool refused = reply && reply->refusal != Refusal::kNone;
    const bool again =
        refused ? reply->refusal == Refusal::kOverloaded : !reply && no_reply(reply.error());
    if (!again || link_->closed || link_->lane.now() + kRetryPause >= deadline) {
      link_->bytes -= bytes;
      if (refused) co_return std::unexpected(error_of(*reply));
      co_return reply;
    }
    co_await link_->pause.wait_until(link_->lane.now() + kRetryPause);
  }
}

Task<Result<queue::ReadAnswer>> RemotePartition::read(queue::ReadRequest request) {
  ReadCall call;
  call.offset = request.offset;
  call.bytes_max =
      static_cast<std::uint32_t>(std::min<std::size_t>(request.bytes_max, kPartitionPageBytes));
  call.entries_max =
      static_cast<std::uint32_t>(std::min<std::size_t>(request.entries_max, kEntriesPerReplyMax));
  const std::size_t bytes = call.bytes_max;
  CO_TRY(PartitionReply reply, co_await ask(call, bytes));
  if (!reply.status) co_return std::unexpected(std::move(reply.status).error());
  co_return queue::ReadAnswer{std::move(reply.entries), reply.start, reply.end};
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find(PartitionCall call) {
  CO_TRY(PartitionReply reply, co_await ask(std::move(call), kChangeBytes));
  if (!reply.status) co_return std::unexpected(std::move(reply.status).error());
  if (reply.entries.empty()) co_return std::optional<StoredEntry>();
  co_return std::optional(std::move(reply.entries.front()));
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_time(std::int64_t time_ms) {
  return find(FindTimeCall{0, time_ms});
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_time_from(Offset from,
                                                                         std::int64_t time_ms) {
  return find(FindTimeCall{from, time_ms});
}

Task<Result<std::optional<StoredEntry>>> RemotePartition::find_newest() {
  return find(FindNewestCall{});
}

// The figures, as of the replies.

// Replies may overtake each other.
void RemotePartition::note(const PartitionReply& reply) {
  bool other = false;
  {
    const std::lock_guard lock(mirror_.mutex);
    if (reply.refusal == Refusal::kNotHere) mirror_.stopped = true;
    if (reply.refusal == Refusal::kNotHere || reply.incarnation == 0) return;
    other = reply.incarnation != mirror_.incarnation;
    mirror_.incarnation = reply.incarnation;
    if (reply.refusal != Refusal::kNone) return;
    mirror_.stopped = reply.stopped;
    const bool newer = reply.info.end >= mirror_.info.end && reply.info.start >= mirror_.info.start;
    if (other || newer) mirror_.info = reply.info;
  }
  // A change that is in flight finds out by itself.
  if (other && !sending_ && reply.incarnation != incarnation_) close_session();
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
  return found->second;
}

std::vector<ConsumerOffset> RemotePartition::all_committed() const {
  const std::lock_guard lock(mirror_.mutex);
  std::vector<ConsumerOffset> all;
  for (const auto& [name, offset] : mirror_.consumers) all.push_back(offset);
  return all;
}

void RemotePartition::note_consumer(const std::string& consumer,
                                    std::optional<ConsumerOffset> offset) {
  if (refreshing_ > 0) changed_consumers_[consumer] = offset;
  const std::lock_guard lock(mirror_.mutex);
  if (offset) {
    mirror_.consumers[consumer] = std::move(*offset);
  } else {
    mirror_.consumers.erase(consumer);
  }
}

Task<Result<void>> RemotePartition::refresh() {
  const auto self = shared_from_this();
  ++refreshing_;
  std::map<std::string, ConsumerOffset> found;
  Result<void> done;
  std::string after;
  for (bool more = true; more && done;) {
    Reply reply = co_await ask(DescribeCall{after}, kChangeBytes);
    if (!reply || !reply->status) {
      done = std::unexpected(reply ? error_of(*reply) : reply.error());
      break;
    }
    more = reply->more && !reply->consumers.empty();
    for (ConsumerOffset& offset : reply->consumers) {
      after = std::max(after, offset.consumer);
      found.insert_or_assign(offset.consumer, std::move(offset));
    }
  }
  // Changes of this object may be newer than what was found.
  for (const auto& [name, offset] : changed_consumers_) {
    if (offset) {
      found.insert_or_assign(name, *offset);
    } else {
      found.erase(name);
    }
  }
  if (--refreshing_ == 0) changed_consumers_.clear();
  if (!done) co_return done;
  const std::lock_guard lock(mirror_.mutex);
  mirror_.consumers = std::move(found);
  co_return done;
}

// Changes.

Task<RemotePartition::Reply> RemotePartition::change(PartitionCall call) {
  const auto self = shared_from_this();
  if (waiting_.size() >= queue::kInFlightWritesMax || !link_->reserve(kChangeBytes)) {
    co_return fail(Errc::kOverloaded, fmt::format("{} changes are waiting", waiting_.size()));
  }
  const auto done = std::make_shared<OneShot<Reply>>();
  push(Item{std::move(call), nullptr, done, kChangeBytes});
  CO_TRY(PartitionReply reply, co_await *done);
  if (!reply.status) co_return std::unexpected(std::move(reply.status).error());
  co_return reply;
}

Task<Result<void>> RemotePartition::commit(ConsumerOffset offset) {
  if (offset.consumer.size() > queue::kConsumerNameBytesMax ||
      offset.metadata.size() > queue::kConsumerMetadataBytesMax) {
    co_return fail(Errc::kInvalidArgument, "the consumer's name or metadata is too long");
  }
  CO_TRY_VOID(co_await change(CommitOffsetCall{{}, offset}));
  note_consumer(offset.consumer, offset);
  co_return Result<void>();
}

Task<Result<void>> RemotePartition::forget_consumer(std::string consumer) {
  CO_TRY_VOID(co_await change(ForgetConsumerCall{{}, consumer}));
  note_consumer(consumer, std::nullopt);
  co_return Result<void>();
}

Task<Result<Offset>> RemotePartition::trim(Offset offset) {
  CO_TRY(const PartitionReply reply, co_await change(TrimCall{{}, offset}));
  co_return reply.start;
}

std::shared_ptr<OneShot<WriteAnswer>> RemotePartition::write(WriteRequest request) {
  if (std::string problem = problem_of(request); !problem.empty()) {
    return answered(WriteStatus::kInvalid, std::move(problem));
  }
  const Instant now = link_->lane.now();
  if (!refusals_.admit(request.producer, request.part == 0, now)) {
    return answered(WriteStatus::kFailedBefore,
                    "an earlier write of the source was refused and must be sent again first");
  }
  const std::size_t bytes =
      request.payload.size() + request.producer.source_id.size() + kChangeBytes;
  if (waiting_.size() >= queue::kInFlightWritesMax || !link_->reserve(bytes)) {
    refusals_.refused(request.producer, true, now);
    return answered(WriteStatus::kOverloaded, fmt::format("{} bytes are on their way to node {}",
                                                          link_->bytes, link_->node.value));
  }
  auto written = std::make_shared<OneShot<WriteAnswer>>();
  WriteCall call;
  call.writes.push_back(std::move(request));
  push(Item{std::move(call), written, nullptr, bytes});
  return written;
}

void RemotePartition::push(Item item) {
  waiting_.push_back(std::move(item));
  if (!std::exchange(sending_, true)) spawn(send_changes(shared_from_this()));
}

// The yield: what the caller writes next is sent in the same message.
Task<void> RemotePartition::send_changes(std::shared_ptr<RemotePartition> self) {
  co_await yield(self->link_->lane);
  while (!self->waiting_.empty()) co_await self->carry_out(self->take_batch());
  self->sending_ = false;
}

// A call of one kind. Of a source, at most as many batches as the partition remembers.
RemotePartition::Batch RemotePartition::take_batch() {
  Batch batch;
  std::size_t bytes = 0;
  std::map<std::string, std::size_t> of_source;
  while (!waiting_.empty()) {
    Item& next = waiting_.front();
    auto* write = std::get_if<WriteCall>(&next.call);
    auto* whole = std::get_if<WriteCall>(&batch.call);
    if (!batch.items.empty()) {
      if (write == nullptr || whole == nullptr) break;
      const WriteRequest& request = write->writes.front();
      if (sent_once(request) != batch.once || batch.items.size() >= kWritesPerCallMax ||
          bytes + next.bytes > kWriteCallBytesMax ||
          of_source[request.producer.source_id] >= queue::kSequenceWindow) {
        break;
      }
    }
    bytes += next.bytes;
    if (write != nullptr) {
      const WriteRequest& request = write->writes.front();
      batch.once = sent_once(request);
      batch.anywhere = !batch.once;
      if (request.producer.numbering == queue::Numbering::kSequence) {
        ++of_source[request.producer.source_id];
      }
      batch.producers.push_back(request.producer);
    }
    if (batch.items.empty()) {
      batch.call = std::move(next.call);
    } else {
      whole->writes.push_back(std::move(write->writes.front()));
    }
    batch.items.push_back(std::move(next));
    waiting_.pop_front();
  }
  return batch;
}

Task<void> RemotePartition::carry_out(Batch batch) {
  const Instant deadline = link_->lane.now() + kChangeTimeout;
  bool sent = false;
  for (;;) {
    if (session_ == 0) {
      if (sent && !batch.anywhere) {
        co_return give_up(std::move(batch), true,
                          {Errc::kUnknownOutcome, "the partition was started again meanwhile"});
      }
      const Result<void> opened = co_await open_session(deadline);
      if (!opened) co_return give_up(std::move(batch), sent, opened.error());
    }
    *change_of(batch.call) = {incarnation_, session_, number_ + 1};
    const Instant attempt = std::min(deadline, link_->lane.now() + kAttemptTimeout);
    Reply reply = co_await send(link_, tablet_, index_, batch.call, attempt);
    if (reply) note(*reply);
    Error error = reply ? error_of(*reply) : reply.error();
    if (reply && reply->refusal == Refusal::kNone) {
      if (batch.producers.size() == reply->answers.size()) {
        ++number_;
        co_return finish(std::move(batch), std::move(*reply));
      }
      error = {Errc::kUnavailable, "a reply does not fit its request"};
    }
    const bool lost = !reply || reply->refusal == Refusal::kNone;
    // What the network refuses was not sent.
    const bool refused_here = !reply && !no_reply(error);
    sent = sent || !refused_here;
    if (reply && reply->refusal == Refusal::kStaleSession) session_ = 0;
    const bool final = refused_here
                           ? error.code != Errc::kOverloaded
                           : (lost && batch.once) || (reply && reply->refusal == Refusal::kNotHere);
    if (final || link_->closed || link_->lane.now() + kRetryPause >= deadline) {
      close_session();
      co_return give_up(std::move(batch), sent, std::move(error));
    }
    co_await link_->pause.wait_until(link_->lane.now() + kRetryPause);
  }
}

Task<Result<void>> RemotePartition::open_session(Instant deadline) {
  for (;;) {
    const Instant attempt = std::min(deadline, link_->lane.now() + kAttemptTimeout);
    const OpenSessionCall call{incarnation_, closing_};
    const Reply reply = co_await send(link_, tablet_, index_, call, attempt);
    if (reply) note(*reply);
    if (reply && reply->refusal == Refusal::kNone && reply->session != 0) {
      incarnation_ = reply->incarnation;
      session_ = reply->session;
      number_ = 0;
      closing_ = 0;
      co_return Result<void>();
    }
    Error error = reply ? error_of(*reply) : reply.error();
    const bool again = reply ? reply->refusal == Refusal::kOverloaded
                             : no_reply(error) || error.code == Errc::kOverloaded;
    if (!again || link_->closed || link_->lane.now() + kRetryPause >= deadline) {
      co_return std::unexpected(std::move(error));
    }
    co_await link_->pause.wait_until(link_->lane.now() + kRetryPause);
  }
}

void RemotePartition::close_session() {
  if (session_ == 0) return;
  closing_ = std::exchange(session_, 0);
}

std::vector<RemotePartition::Written> RemotePartition::take_waiting() {
  std::vector<Written> taken;
  std::deque<Item> others;
  for (Item& item : std::exchange(waiting_, {})) {
    if (!item.written) {
      others.push_back(std::move(item));
      continue;
    }
    link_->bytes -= item.bytes;
    const WriteRequest& request = std::get<WriteCall>(item.call).writes.front();
    refusals_.refused(request.producer, true, link_->lane.now());
    taken.push_back(std::move(item.written));
  }
  waiting_ = std::move(others);
  return taken;
}

// Callers that are answered may call again: the state is changed first.
void RemotePartition::finish(Batch batch, PartitionReply reply) {
  const auto broken = [](const WriteAnswer& answer) {
    return answer.status == WriteStatus::kUnknown || answer.status == WriteStatus::kStopped;
  };
  std::vector<Written> behind;
  if (std::ranges::any_of(reply.answers, broken)) behind = take_waiting();
  for (const Item& item : batch.items) link_->bytes -= item.bytes;
  if (batch.items.front().done) return (void)batch.items.front().done->set(std::move(reply));
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    batch.items[i].written->set(std::move(reply.answers[i]));
  }
  for (const Written& one : behind) {
    one->set(answer_of(WriteStatus::kFailedBefore, "a write before this one failed"));
  }
}

void RemotePartition::give_up(Batch batch, bool sent, Error error) {
  std::vector<Written> behind;
  for (const queue::Producer& producer : batch.producers) {
    refusals_.refused(producer, true, link_->lane.now());
  }
  if (!batch.producers.empty()) behind = take_waiting();
  for (const Item& item : batch.items) link_->bytes -= item.bytes;
  if (const auto done = batch.items.front().done) {
    if (sent) error.code = Errc::kUnknownOutcome;
    done->set(std::unexpected(std::move(error)));
    return;
  }
  WriteStatus status =
      error.code == Errc::kOverloaded ? WriteStatus::kOverloaded : WriteStatus::kStopped;
  if (error.code == Errc::kInvalidArgument) status = WriteStatus::kInvalid;
  if (sent) status = WriteStatus::kUnknown;
  for (const Item& item : batch.items) item.written->set(answer_of(status, error.message()));
  for (const Written& one : behind) {
    one->set(answer_of(WriteStatus::kFailedBefore, "a write before this one failed"));
  }
}

// Watches.

std::uint64_t RemotePartition::watch(Callback moved) {
  const std::uint64_t id = next_watch_++;
  watches_.emplace(id, std::make_shared<Watch>(std::move(moved)));
  if (!std::exchange(following_, true)) {
    followed_ = {};  // The first reply notifies: the end may have moved before.
    spawn(follow_end(weak_from_this(), link_));
  }
  return id;
}

void RemotePartition::unwatch(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  found->second->active = false;
  watches_.erase(found);
}

// A callback may watch and unwatch.
void RemotePartition::notify() {
  std::vector<std::shared_ptr<Watch>> called;
  for (const auto& [id, watch] : watches_) called.push_back(watch);
  for (const auto& watch : called) {
    if (watch->active) watch->callback();
  }
}

void RemotePartition::note_end(const Reply& reply) {
  if (!reply) return;
  note(*reply);
  const bool stopped = reply->refusal == Refusal::kNotHere || reply->stopped;
  const WaitCall known{reply->incarnation, reply->info.end};
  const bool ended = stopped && !std::exchange(followed_stopped_, stopped);
  const bool moved = reply->refusal == Refusal::kNone &&
                     (known.incarnation != followed_.incarnation || known.end != followed_.end);
  followed_stopped_ = stopped;
  if (moved) followed_ = known;
  if (moved || ended) notify();
}

// The partition may be destroyed during a wait.
Task<void> RemotePartition::follow_end(std::weak_ptr<RemotePartition> weak, PeerLinkPtr link) {
  co_await yield(link->lane);
  for (;;) {
    auto self = weak.lock();
    if (!self || link->closed || self->watches_.empty()) {
      if (self) self->following_ = false;
      co_return;
    }
    const TabletId tablet = self->tablet_;
    const queue::PartitionIndex index = self->index_;
    const WaitCall call = self->followed_;
    self.reset();
    const Instant deadline = link->lane.now() + kEndWait + kReplySlack;
    const Reply reply = co_await send(link, tablet, index, call, deadline);
    self = weak.lock();
    if (!self) co_return;
    self->note_end(reply);
    self.reset();
    if (!reply || reply->refusal != Refusal::kNone || reply->stopped) {
      co_await link->pause.wait_until(link->lane.now() + kFollowPause);
    }
  }
}

}  // namespace moraine
