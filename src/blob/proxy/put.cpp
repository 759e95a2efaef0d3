#include "blob/proxy/put.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "blob/group/erasure.h"
#include "blob/proxy/failures.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kTagParts = 16;  // tag = slot * kTagParts + part

// One put: the state of its replies so far.
class PutRun {
 public:
  PutRun(ProxyContext& context, ViewPtr view, const PartWrites& writes, PutPlan plan,
         Instant deadline)
      : context_(context),
        view_(std::move(view)),
        writes_(writes),
        plan_(std::move(plan)),
        deadline_(deadline),
        started_(context.now()),
        subgroup_(view_->geometry().subgroup(writes.id)),
        replies_(context.executor()) {}

  Task<std::optional<PutResult>> run();

 private:
  void send(PartPlace place);
  void accelerate();
  // True when the reply ends the put, with result_ or restart_.
  bool take(DiskEvent event);
  PutResult finish(PutPlan::State state);

  ProxyContext& context_;
  ViewPtr view_;
  const PartWrites& writes_;
  PutPlan plan_;
  Instant deadline_;
  Instant started_;
  Geometry::Subgroup subgroup_;
  ReplyQueue replies_;
  Failures failures_;
  PutResult result_;
  bool restart_ = false;
  // An acknowledgement is as old as its request: the reply may have waited for a stalled process.
  std::array<std::array<Instant, kPartsMax>, kSlotsMax> sent_{};
};

void PutRun::send(PartPlace place) {
  PutPart body;
  body.id = writes_.id.with_part(place.part);
  body.data = writes_.parts[place.part - 1];
  body.ignore_block = writes_.ignore_block;
  body.extra_blocks = writes_.extra_blocks;
  sent_[place.slot][place.part - 1] = context_.now();
  context_.send(replies_, place.slot * kTagParts + place.part, view_, subgroup_.order[place.slot],
                std::move(body), deadline_, Operation::kWrite);
}

void PutRun::accelerate() {
  std::array<Duration, kSlotsMax> predicted{};
  for (std::uint32_t slot = 0; slot < subgroup_.size; ++slot) {
    predicted[slot] =
        context_.health().predicted(subgroup_.order[slot], Operation::kWrite, context_.now());
  }
  const DiskSet late = plan_.accelerate(predicted);
  for (std::uint32_t slot = 0; slot < subgroup_.size; ++slot) {
    if (!contains(late, slot)) continue;
    context_.health().late(subgroup_.order[slot], Operation::kWrite, context_.now() - started_,
                           context_.now());
  }
}

bool PutRun::take(DiskEvent event) {
  const PartPlace place{static_cast<std::uint8_t>(event.tag / kTagParts),
                        static_cast<std::uint8_t>(event.tag % kTagParts)};
  const DiskReply& reply = event.reply;
  result_.colour = std::max(result_.colour, reply.colour);
  switch (reply.status) {
    case Status::kOk:
    case Status::kAlready:
      if (const auto* put = std::get_if<PutPartReply>(&reply.body); put && put->beyond_barrier) {
        result_.beyond_barrier = true;
      }
      plan_.acknowledged(place, has_bug(SeededBug::kCountStaleAck) ? 0 : reply.incarnation,
                         sent_[place.slot][place.part - 1]);
      return false;
    case Status::kBlocked:
    case Status::kDeadline:
      result_.status = reply.status;
      result_.reason = disk_reason(event.order, reply.reason);
      return true;
    case Status::kRace:
      restart_ = context_.must_restart(view_, reply);
      if (restart_) return true;
      break;
    default:
      // A blob of another size is stored on one disk: the put must not succeed on the others.
      if (const auto* put = std::get_if<PutPartReply>(&reply.body); put && put->other_size) {
        result_.status = Status::kError;
        result_.reason = disk_reason(event.order, reply.reason);
        return true;
      }
  }
  failures_.add(event.order, reply.status, reply.reason);
  plan_.failed(place, reply.incarnation, reply.status == Status::kOutOfSpace);
  return false;
}

PutResult PutRun::finish(PutPlan::State state) {
  switch (state) {
    case PutPlan::State::kOk: result_.status = Status::kOk; break;
    case PutPlan::State::kOutOfSpace:
      result_.status = Status::kOutOfSpace;
      result_.reason = failures_.reason("too few disks with space");
      break;
    default:
      result_.status = failures_.status();
      result_.reason = failures_.reason("no write quorum");
  }
  return std::move(result_);
}

Task<std::optional<PutResult>> PutRun::run() {
  const Duration delay = context_.health().hedge_delay(
      Operation::kWrite, writes_.parts.front().size(), context_.now());
  Instant hedge_at = context_.now() + delay;
  for (;;) {
    const PutPlan::Step step = plan_.next(context_.now());
    if (step.state != PutPlan::State::kWaiting) co_return finish(step.state);
    if (has_bug(SeededBug::kSkipOneQuorumMember) &&
        effective_parts(view_->geometry(), plan_.layout()) + 1 == view_->geometry().parts()) {
      co_return finish(PutPlan::State::kOk);
    }
    for (const PartPlace place : step.sends) send(place);
    std::optional<DiskEvent> event = co_await replies_.next(std::min(deadline_, hedge_at));
    if (event) {
      if (!take(std::move(*event))) continue;
      if (restart_) co_return std::nullopt;
      co_return std::move(result_);
    }
    if (context_.now() >= deadline_) {
      result_.status = Status::kDeadline;
      result_.reason = failures_.reason("no write quorum in time");
      co_return std::move(result_);
    }
    accelerate();
    hedge_at = context_.now() + delay;
  }
}

// A blob with one slot: one call, awaited in place.
Task<std::optional<PutResult>> put_single(ProxyContext& context, ViewPtr view,
                                          const PutRequest& request) {
  const Geometry& geometry = view->geometry();
  const std::uint32_t order = geometry.disks() == 1 ? 0 : geometry.subgroup(request.id).order[0];
  PutPart body;
  body.id = request.id.with_part(1);
  body.data = request.data;
  body.extra_blocks = request.extra_blocks;
  const DiskReply reply =
      co_await context.call(view, order, std::move(body), request.deadline, Operation::kWrite);
  PutResult result;
  result.status = reply.status;
  result.colour = reply.colour;
  switch (reply.status) {
    case Status::kOk:
    case Status::kAlready: {
      result.status = Status::kOk;
      const auto* put = std::get_if<PutPartReply>(&reply.body);
      result.beyond_barrier = put != nullptr && put->beyond_barrier;
      co_return result;
    }
    case Status::kRace:
      if (context.must_restart(view, reply)) co_return std::nullopt;
      result.status = Status::kError;
      break;
    case Status::kBlocked:
    case Status::kDeadline:
    case Status::kOutOfSpace:
    case Status::kNoGroup: break;
    default: result.status = Status::kError;
  }
  result.reason = disk_reason(order, reply.reason);
  co_return result;
}

Task<std::optional<PutResult>> put_group(ProxyContext& context, ViewPtr view,
                                         const PutRequest& request) {
  const Geometry& geometry = view->geometry();
  PartWrites writes;
  writes.id = request.id;
  writes.parts = split(geometry.species(), request.data.joined());
  writes.extra_blocks = request.extra_blocks;
  const DiskSet avoid = context.health().avoid(Operation::kWrite, context.now());
  const bool for_ever = has_bug(SeededBug::kCountStaleAck);
  PutPlan plan(geometry, slots_of(geometry.subgroup(request.id), avoid),
               for_ever ? Duration::max() : context.options().ok_lifetime);
  PutRun run(context, view, writes, std::move(plan), request.deadline);
  co_return co_await run.run();
}

}  // namespace

DiskSet slots_of(const Geometry::Subgroup& subgroup, DiskSet disks) {
  DiskSet slots = 0;
  for (std::uint32_t slot = 0; disks != 0 && slot < subgroup.size; ++slot) {
    if (contains(disks, subgroup.order[slot])) slots |= disk_bit(slot);
  }
  return slots;
}

Task<std::optional<PutResult>> write_parts(ProxyContext& context, ViewPtr view,
                                           const PartWrites& writes, PutPlan plan,
                                           Instant deadline) {
  PutRun run(context, std::move(view), writes, std::move(plan), deadline);
  co_return co_await run.run();
}

Task<std::optional<PutResult>> put_once(ProxyContext& context, ViewPtr view,
                                        const PutRequest& request) {
  if (view->geometry().slots() == 1) return put_single(context, std::move(view), request);
  return put_group(context, std::move(view), request);
}

}  // namespace moraine::blob
