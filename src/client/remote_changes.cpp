#include "client/remote_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace moraine {
namespace {

using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;

constexpr Duration kRetryPause = 50ms;
constexpr std::size_t kChangeBytes = 512;  // A change without its texts.
constexpr std::string_view kFailedBeforeText = "a write before this one failed";
constexpr std::string_view kMovedText = "the partition runs elsewhere now";

WriteAnswer answer_of(WriteStatus status, std::string_view detail) {
  WriteAnswer answer;
  answer.status = status;
  answer.detail = detail;
  return answer;
}

std::shared_ptr<OneShot<WriteAnswer>> answered(WriteStatus status, std::string_view detail) {
  const auto done = std::make_shared<OneShot<WriteAnswer>>();
  done->set(answer_of(status, detail));
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

// The write has to be sent again before a later one of its source.
bool failed(const WriteAnswer& answer) {
  return answer.status == WriteStatus::kUnknown || answer.status == WriteStatus::kStopped ||
         answer.status == WriteStatus::kFailedBefore;
}
// And what waits behind it fails.
bool ends_queue(const WriteAnswer& answer) {
  return answer.status == WriteStatus::kUnknown || answer.status == WriteStatus::kStopped;
}

bool no_reply(const Error& error) {
  return error.code == Errc::kTimeout || error.code == Errc::kUnavailable;
}

Error error_of(const PartitionReply& reply) {
  return reply.status ? Error{Errc::kUnavailable, "the request was refused"} : reply.status.error();
}

bool asks_again(Refusal refusal) {
  return refusal == Refusal::kOverloaded || refusal == Refusal::kExpired;
}

}  // namespace

RemoteChanges::RemoteChanges(PeerLinkPtr link, TabletId tablet, queue::PartitionIndex index,
                             Note note)
    : link_(std::move(link)),
      tablet_(tablet),
      index_(index),
      note_(std::move(note)),
      refusals_({}, link_->now()),
      closing_(link_->take_unclosed(tablet, index)) {
  refusals_.nothing_refused_before();
}

Task<RemoteChanges::Reply> RemoteChanges::change(PartitionCall call, std::size_t texts) {
  const auto self = shared_from_this();
  if (abandoned_) co_return fail(Errc::kNotHere, std::string(kMovedText));
  const std::size_t bytes = kChangeBytes + texts;
  if (waiting_.size() >= queue::kInFlightWritesMax || !link_->reserve(bytes)) {
    co_return fail(Errc::kOverloaded, fmt::format("{} changes are waiting", waiting_.size()));
  }
  const auto done = std::make_shared<OneShot<Reply>>();
  push(Item{std::move(call), nullptr, done, bytes});
  CO_TRY(PartitionReply reply, co_await *done);
  if (!reply.status) co_return std::unexpected(std::move(reply.status).error());
  co_return reply;
}

std::shared_ptr<OneShot<WriteAnswer>> RemoteChanges::write(WriteRequest request) {
  if (std::string problem = problem_of(request); !problem.empty()) {
    return answered(WriteStatus::kInvalid, problem);
  }
  if (abandoned_) return answered(WriteStatus::kStopped, kMovedText);
  if (!refusals_.admit(request.producer, request.part == 0, link_->now())) {
    return answered(WriteStatus::kFailedBefore,
                    "an earlier write of the source was refused and must be sent again first");
  }
  const std::size_t bytes =
      request.payload.size() + request.producer.source_id.size() + kChangeBytes;
  if (waiting_.size() >= queue::kInFlightWritesMax || !link_->reserve(bytes)) {
    refuse(request.producer);
    return answered(WriteStatus::kOverloaded, fmt::format("{} bytes are in flight to node {}",
                                                          link_->bytes(), link_->node().value));
  }
  auto written = std::make_shared<OneShot<WriteAnswer>>();
  WriteCall call;
  call.writes.push_back(std::move(request));
  push(Item{std::move(call), written, nullptr, bytes});
  return written;
}

void RemoteChanges::push(Item item) {
  waiting_.push_back(std::move(item));
  if (!std::exchange(sending_, true)) spawn(send_changes(shared_from_this()));
}

// The yield: what the caller writes next is sent in the same message. A session that may have a
// change in flight is closed at once, with the next change or without one.
Task<void> RemoteChanges::send_changes(std::shared_ptr<RemoteChanges> self) {
  co_await yield(self->link_->lane());
  while (!self->waiting_.empty()) {
    self->in_flight_ = self->take_batch();
    co_await self->carry_out();
    if (self->waiting_.empty() && self->closing_.session != 0) (void)co_await self->close_now(0);
  }
  self->sending_ = false;
}

// A call of one kind. Of a source, at most as many batches as the partition remembers.
RemoteChanges::Batch RemoteChanges::take_batch() {
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
      if (sent_once(request) != batch.at_most_once || batch.items.size() >= kWritesPerCallMax ||
          bytes + next.bytes > kWriteCallBytesMax ||
          of_source[request.producer.source_id] >= queue::kSequenceWindow) {
        break;
      }
    }
    bytes += next.bytes;
    if (write != nullptr) {
      const WriteRequest& request = write->writes.front();
      batch.at_most_once = sent_once(request);
      batch.any_incarnation = !batch.at_most_once;
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

Task<void> RemoteChanges::carry_out() {
  const Instant deadline = link_->now() + kChangeTimeout;
  for (;;) {
    if (session_.session == 0) {
      if (in_flight_->may_be_done() && !in_flight_->any_incarnation) {
        co_return give_up({Errc::kUnknownOutcome, "the partition was started again meanwhile"});
      }
      const Result<void> opened = co_await open_session(deadline);
      if (!in_flight_) co_return;
      if (!opened) co_return give_up(opened.error());
    }
    *change_of(in_flight_->call) = {session_, number_ + 1};
    in_flight_->attempting = true;
    const Instant end = std::min(deadline, link_->now() + kAttemptTimeout);
    Attempt attempt = co_await link_->call(tablet_, index_, in_flight_->call, end);
    if (!in_flight_) co_return;
    in_flight_->attempting = false;
    Error error{Errc::kUnavailable, "no reply"};
    Next next = judge(std::move(attempt), error);
    if (next == Next::kDone) co_return;
    if (link_->closed() || link_->now() + kRetryPause >= deadline) next = Next::kGiveUp;
    if (next == Next::kGiveUp) {
      const bool unclear = in_flight_->attempted && !in_flight_->lost_in_session;
      if (in_flight_->attempted) leave_session();
      // What was only refused may be delivered again until the session is closed.
      if (unclear && !co_await close_now(number_ + 1) && in_flight_) in_flight_->lost = true;
      if (in_flight_) give_up(std::move(error));
      co_return;
    }
    co_await link_->pause_until(link_->now() + kRetryPause);
    if (!in_flight_) co_return;
  }
}

RemoteChanges::Next RemoteChanges::judge(Attempt attempt, Error& error) {
  Batch& batch = *in_flight_;
  batch.attempted = batch.attempted || attempt.sent;
  if (!attempt.reply) {
    error = attempt.reply.error();
    if (attempt.sent) batch.lost_in_session = true;
    if (attempt.sent) return batch.at_most_once ? Next::kGiveUp : Next::kAgain;
    return error.code == Errc::kOverloaded || no_reply(error) ? Next::kAgain : Next::kGiveUp;
  }
  PartitionReply& reply = *attempt.reply;
  note_(reply);
  error = error_of(reply);
  switch (reply.refusal) {
    case Refusal::kNone:
      if (batch.producers.size() == reply.answers.size()) {
        ++number_;
        finish(std::move(reply));
        return Next::kDone;
      }
      error = {Errc::kUnavailable, "a reply does not fit its request"};
      batch.lost_in_session = true;
      return batch.at_most_once ? Next::kGiveUp : Next::kAgain;
    case Refusal::kStaleSession: judge_stale(reply); return Next::kAgain;
    // No other incarnation accepts what was sent to this one.
    case Refusal::kNotHere:
      batch.lost = batch.lost || batch.lost_in_session;
      batch.attempted = batch.lost_in_session = false;
      session_ = {};
      return Next::kGiveUp;
    case Refusal::kOverloaded:
    case Refusal::kExpired: return Next::kAgain;
  }
  return Next::kGiveUp;
}

// Nothing more of the session is carried out.
void RemoteChanges::judge_stale(const PartitionReply& reply) {
  Batch& batch = *in_flight_;
  const bool known = reply.incarnation == session_.incarnation && reply.last_change;
  const bool done = batch.lost_in_session && !(known && *reply.last_change <= number_);
  batch.lost = batch.lost || done;
  batch.attempted = batch.lost_in_session = false;
  session_ = {};
}

void RemoteChanges::leave_session() {
  if (session_.session == 0) return;
  closing_ = std::exchange(session_, {});
}

void RemoteChanges::note_incarnation(std::uint64_t incarnation) {
  // A change that is in flight finds out by itself.
  if (!sending_ && incarnation != session_.incarnation) session_ = {};
}

Task<bool> RemoteChanges::close_now(std::uint64_t number) {
  const SessionName session = closing_;
  const CloseSessionCall call{session};
  const Attempt attempt =
      co_await link_->call(tablet_, index_, call, link_->now() + kAttemptTimeout);
  if (!attempt.reply) co_return false;
  const PartitionReply& reply = *attempt.reply;
  note_(reply);
  const bool gone = reply.refusal == Refusal::kNotHere ||
                    (reply.incarnation != 0 && reply.incarnation != session.incarnation);
  if (!gone && reply.refusal != Refusal::kNone) co_return false;
  if (closing_ == session) closing_ = {};
  link_->note_closed(tablet_, index_, session);
  co_return !gone && reply.last_change && *reply.last_change < number;
}

Task<Result<void>> RemoteChanges::open_session(Instant deadline) {
  for (;;) {
    const Instant end = std::min(deadline, link_->now() + kAttemptTimeout);
    const OpenSessionCall call{closing_};
    const Attempt attempt = co_await link_->call(tablet_, index_, call, end);
    if (abandoned_) co_return fail(Errc::kNotHere, std::string(kMovedText));
    const Reply& reply = attempt.reply;
    if (reply) note_(*reply);
    if (reply && reply->refusal == Refusal::kNone && reply->session != 0) {
      session_ = {reply->incarnation, reply->session};
      number_ = 0;
      closing_ = {};
      co_return Result<void>();
    }
    Error error = reply ? error_of(*reply) : reply.error();
    const bool again =
        reply ? asks_again(reply->refusal) : no_reply(error) || error.code == Errc::kOverloaded;
    if (!again || link_->closed() || link_->now() + kRetryPause >= deadline) {
      co_return std::unexpected(std::move(error));
    }
    co_await link_->pause_until(link_->now() + kRetryPause);
    if (abandoned_) co_return fail(Errc::kNotHere, std::string(kMovedText));
  }
}

std::vector<RemoteChanges::Written> RemoteChanges::take_waiting() {
  std::vector<Written> taken;
  std::deque<Item> others;
  for (Item& item : std::exchange(waiting_, {})) {
    if (!item.written) {
      others.push_back(std::move(item));
      continue;
    }
    link_->release(item.bytes);
    refuse(std::get<WriteCall>(item.call).writes.front().producer);
    taken.push_back(std::move(item.written));
  }
  waiting_ = std::move(others);
  return taken;
}

// Callers that are answered may call again: the state is changed first. The same below.
void RemoteChanges::finish(PartitionReply reply) {
  const Batch batch = std::move(*std::exchange(in_flight_, std::nullopt));
  for (std::size_t i = 0; i < reply.answers.size(); ++i) {
    if (failed(reply.answers[i])) refuse(batch.producers[i]);
  }
  std::vector<Written> behind;
  if (std::ranges::any_of(reply.answers, ends_queue)) behind = take_waiting();
  for (const Item& item : batch.items) link_->release(item.bytes);
  if (batch.items.front().done) return (void)batch.items.front().done->set(std::move(reply));
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    batch.items[i].written->set(std::move(reply.answers[i]));
  }
  for (const Written& one : behind)
    one->set(answer_of(WriteStatus::kFailedBefore, kFailedBeforeText));
}

void RemoteChanges::give_up(Error error) {
  const Batch batch = std::move(*std::exchange(in_flight_, std::nullopt));
  const bool unknown = batch.may_be_done();
  for (const queue::Producer& producer : batch.producers) refuse(producer);
  std::vector<Written> behind;
  if (!batch.producers.empty()) behind = take_waiting();
  for (const Item& item : batch.items) link_->release(item.bytes);
  if (const auto done = batch.items.front().done) {
    if (unknown) error.code = Errc::kUnknownOutcome;
    done->set(std::unexpected(std::move(error)));
    return;
  }
  WriteStatus status =
      error.code == Errc::kOverloaded ? WriteStatus::kOverloaded : WriteStatus::kStopped;
  if (error.code == Errc::kInvalidArgument) status = WriteStatus::kInvalid;
  if (unknown) status = WriteStatus::kUnknown;
  const std::string text = error.message();
  for (const Item& item : batch.items) item.written->set(answer_of(status, text));
  for (const Written& one : behind)
    one->set(answer_of(WriteStatus::kFailedBefore, kFailedBeforeText));
}

void RemoteChanges::abandon() {
  abandoned_ = true;
  const bool unclear = in_flight_ && (in_flight_->attempting || in_flight_->attempted);
  if (unclear) leave_session();
  if (closing_.session != 0) link_->keep_unclosed(tablet_, index_, closing_);
  std::vector<std::shared_ptr<OneShot<Reply>>> others;
  const auto written = [](const Item& item) { return item.written != nullptr; };
  for (const Item& item : waiting_) {
    if (written(item)) continue;
    others.push_back(item.done);
    link_->release(item.bytes);
  }
  std::erase_if(waiting_, [&](const Item& item) { return !written(item); });
  const std::vector<Written> behind = take_waiting();
  if (unclear) in_flight_->lost = true;
  if (in_flight_) give_up({Errc::kNotHere, std::string(kMovedText)});
  for (const auto& done : others) done->set(fail(Errc::kNotHere, std::string(kMovedText)));
  for (const Written& one : behind)
    one->set(answer_of(WriteStatus::kFailedBefore, kFailedBeforeText));
}

}  // namespace moraine
