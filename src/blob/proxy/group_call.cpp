#include "blob/proxy/group_call.h"

#include <algorithm>

namespace moraine::blob {
namespace {

Generation blocked_in(const ReplyBody& body) {
  if (const auto* reply = std::get_if<GetBlockReply>(&body)) return reply->blocked;
  if (const auto* reply = std::get_if<BlockTabletReply>(&body)) return reply->blocked;
  return 0;
}

}  // namespace

Broadcast::Broadcast(ProxyContext& context, ViewPtr view, const RequestBody& body, Instant deadline)
    : replies_(context.executor()), waiting_(view->geometry().disks()) {
  for (std::uint32_t order = 0; order < view->geometry().disks(); ++order) {
    context.send(replies_, order, view, order, body, deadline, Operation::kIndex);
  }
}

Task<std::optional<DiskEvent>> Broadcast::next(Instant until) {
  if (waiting_ == 0) co_return std::nullopt;
  std::optional<DiskEvent> event = co_await replies_.next(until);
  if (event) --waiting_;
  co_return event;
}

namespace {

// One request to every disk, and the replies.
class Round {
 public:
  Round(ProxyContext& context, ViewPtr view, const RequestBody& body, AlreadyMeans already,
        Instant deadline)
      : context_(context),
        view_(std::move(view)),
        already_(already),
        expires_(context.now() + context.options().ok_lifetime),
        deadline_(deadline),
        tally_(view_->geometry()),
        cast_(context, view_, body, deadline) {}

  // nullopt: the acknowledgements of this round have expired.
  Task<std::optional<GroupAnswer>> run();

 private:
  bool expired() const { return context_.now() >= expires_; }
  // True when the reply ends the command, with answer_.
  bool take(const DiskEvent& event);
  GroupAnswer no_quorum();

  ProxyContext& context_;
  ViewPtr view_;
  AlreadyMeans already_;
  Instant expires_;
  Instant deadline_;
  GroupTally tally_;
  Failures failures_;
  GroupAnswer answer_;
  bool already_seen_ = false;
  bool space_alone_ = true;  // All failures were kOutOfSpace.
  Broadcast cast_;
};

bool Round::take(const DiskEvent& event) {
  const DiskReply& reply = event.reply;
  const bool is_already = reply.status == Status::kAlready;
  already_seen_ = already_seen_ || is_already;
  if (reply.status == Status::kOk || (is_already && already_ == AlreadyMeans::kAgreed)) {
    answer_.blocked = std::max(answer_.blocked, blocked_in(reply.body));
    tally_.agreed(event.order);
    return false;
  }
  if (reply.status == Status::kBlocked || reply.status == Status::kDeadline) {
    answer_.status = reply.status;
    answer_.reason = disk_reason(event.order, reply.reason);
    return true;
  }
  if (reply.status == Status::kRace && context_.must_restart(view_, reply)) {
    answer_.status = Status::kRace;
    return true;
  }
  space_alone_ = space_alone_ && reply.status == Status::kOutOfSpace;
  failures_.add(event.order, reply.status, reply.reason);
  tally_.failed(event.order);
  return false;
}

GroupAnswer Round::no_quorum() {
  answer_.status = already_seen_  ? Status::kAlready
                   : space_alone_ ? Status::kOutOfSpace
                                  : failures_.status();
  answer_.reason = failures_.reason("no group quorum");
  return std::move(answer_);
}

Task<std::optional<GroupAnswer>> Round::run() {
  while (tally_.state() == GroupTally::State::kWaiting) {
    const std::optional<DiskEvent> event = co_await cast_.next(std::min(deadline_, expires_));
    if (event && take(*event)) co_return std::move(answer_);
    if (event) continue;
    if (context_.now() < deadline_ && expired()) co_return std::nullopt;
    answer_.status = Status::kDeadline;
    answer_.reason = failures_.reason("no group quorum in time");
    co_return std::move(answer_);
  }
  if (tally_.state() == GroupTally::State::kImpossible) co_return no_quorum();
  if (expired()) co_return std::nullopt;
  answer_.status = Status::kOk;
  co_return std::move(answer_);
}

}  // namespace

Task<GroupAnswer> call_group(ProxyContext& context, ViewPtr view, RequestBody body,
                             AlreadyMeans already, Instant deadline) {
  for (;;) {
    Round round(context, view, body, already, deadline);
    std::optional<GroupAnswer> answer = co_await round.run();
    if (answer) co_return std::move(*answer);
    if (context.now() >= deadline) break;
  }
  GroupAnswer late;
  late.status = Status::kDeadline;
  late.reason = "no group quorum in time";
  co_return late;
}

}  // namespace moraine::blob
