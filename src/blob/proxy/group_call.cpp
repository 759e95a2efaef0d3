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
    : talk_(context.executor()), waiting_(view->geometry().disks()) {
  for (std::uint32_t order = 0; order < view->geometry().disks(); ++order) {
    context.send(talk_, order, view, order, body, deadline, Operation::kIndex);
  }
}

Task<std::optional<DiskEvent>> Broadcast::next(Instant until) {
  if (waiting_ == 0) co_return std::nullopt;
  std::optional<DiskEvent> event = co_await talk_.next(until);
  if (event) --waiting_;
  co_return event;
}

Task<GroupAnswer> call_group(ProxyContext& context, ViewPtr view, RequestBody body,
                             AlreadyMeans already, Instant deadline) {
  GroupTally tally(view->geometry());
  Failures failures;
  GroupAnswer answer;
  bool already_seen = false;
  bool space_alone = true;  // Nothing else was in the way.
  Broadcast cast(context, view, body, deadline);
  while (tally.state() == GroupTally::State::kWaiting) {
    const std::optional<DiskEvent> event = co_await cast.next(deadline);
    if (!event) {
      answer.status = Status::kDeadline;
      answer.reason = failures.reason("no group quorum in time");
      co_return answer;
    }
    const DiskReply& reply = event->reply;
    const bool is_already = reply.status == Status::kAlready;
    already_seen = already_seen || is_already;
    if (reply.status == Status::kOk || (is_already && already == AlreadyMeans::kAgreed)) {
      answer.blocked = std::max(answer.blocked, blocked_in(reply.body));
      tally.agreed(event->order);
      continue;
    }
    if (reply.status == Status::kBlocked || reply.status == Status::kDeadline) {
      answer.status = reply.status;
      answer.reason = disk_says(event->order, reply.reason);
      co_return answer;
    }
    if (reply.status == Status::kRace && context.must_restart(view, event->order, reply)) {
      answer.status = Status::kRace;
      co_return answer;
    }
    space_alone = space_alone && reply.status == Status::kOutOfSpace;
    failures.add(event->order, reply.status, reply.reason);
    tally.failed(event->order);
  }
  if (tally.state() == GroupTally::State::kQuorum) {
    answer.status = Status::kOk;
  } else {
    answer.status = already_seen  ? Status::kAlready
                    : space_alone ? Status::kOutOfSpace
                                  : failures.status();
    answer.reason = failures.reason("no group quorum");
  }
  co_return answer;
}

}  // namespace moraine::blob
