// Status: the state of the group's disks.
#include <algorithm>

#include "blob/proxy/group_call.h"

namespace moraine::blob {
namespace {

double free_share(const GetStatusReply& state) {
  if (state.capacity_bytes == 0) return 1;
  const std::uint64_t used = std::min(state.live_bytes, state.capacity_bytes);
  return static_cast<double>(state.capacity_bytes - used) /
         static_cast<double>(state.capacity_bytes);
}

}  // namespace

Task<std::optional<StatusResult>> status_once(ProxyContext& context, ViewPtr view,
                                              const StatusRequest& request) {
  StatusResult result;
  result.disks.resize(view->geometry().disks());
  for (DiskState& disk : result.disks) {
    disk.status = Status::kDeadline;
    disk.reason = "no answer in time";
  }
  GroupTally ready(view->geometry());
  Failures failures;
  Broadcast cast(context, view, GetStatus{}, request.deadline);
  Instant until = request.deadline;
  while (!cast.all_answered()) {
    if (request.quorum_is_enough && until == request.deadline &&
        ready.state() == GroupTally::State::kQuorum) {
      const Instant now = context.now();
      until = std::min(until, now + context.health().hedge_delay(Operation::kIndex, 0, now));
    }
    std::optional<DiskEvent> event = co_await cast.next(until);
    if (!event) break;
    const DiskReply& reply = event->reply;
    if (reply.status == Status::kRace && context.must_restart(view, reply)) {
      co_return std::nullopt;
    }
    DiskState& disk = result.disks[event->order];
    disk.status = reply.status;
    disk.reason = reply.reason;
    const auto* state = std::get_if<GetStatusReply>(&reply.body);
    if (reply.status != Status::kOk || state == nullptr) {
      failures.add(event->order, reply.status, reply.reason);
      if (reply.status != Status::kDeadline) ready.failed(event->order);
      continue;
    }
    disk.state = *state;
    result.colour = std::max(result.colour, reply.colour);
    result.free_share = std::min(result.free_share.value_or(1), free_share(*state));
    if (state->ready) {
      ready.agreed(event->order);
    } else {
      ready.failed(event->order);
    }
  }
  // A missing reply is not a failure: the disks may be ready.
  switch (ready.state()) {
    case GroupTally::State::kQuorum: result.status = Status::kOk; break;
    case GroupTally::State::kImpossible: result.status = failures.status(); break;
    case GroupTally::State::kWaiting: result.status = Status::kDeadline; break;
  }
  if (result.status != Status::kOk) result.reason = failures.reason("no group quorum is ready");
  co_return result;
}

}  // namespace moraine::blob
