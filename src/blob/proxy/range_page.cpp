#include "blob/proxy/range_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "blob/ingress.h"
#include "blob/proxy/group_call.h"

namespace moraine::blob {
namespace {

// The id just before or after every part of `id`.
std::optional<BlobId> beyond(const BlobId& id, bool descending) {
  if (!descending) return id.with_part(kPartFieldMax);
  return id.whole().predecessor();
}

}  // namespace

bool RangeMerge::add(std::uint32_t order, const RangeIndexReply& reply) {
  const BlobId* last = nullptr;
  for (const RangeItem& item : reply.items) {
    if (before(item.id, from_) || before(to_, item.id) || item.id.part() != 0) return false;
    if (last != nullptr && !before(*last, item.id)) return false;
    last = &item.id;
  }
  if (reply.more && last == nullptr) return false;
  answered_ |= disk_bit(order);
  if (reply.more && (!horizon_ || before(*last, *horizon_))) horizon_ = *last;
  for (const RangeItem& item : reply.items) {
    SeenBlob& blob = blobs_[item.id];
    blob.id = item.id;
    blob.ingress = merge(blob.ingress, item.ingress);
    const int slot = geometry_.subgroup(item.id).slot_of(order);
    if (slot < 0) continue;
    const auto at = static_cast<std::uint32_t>(slot);
    blob.own[at] = item.ingress;
    for (std::uint32_t part = 1; part <= geometry_.parts(); ++part) {
      const bool here = (item.local_parts >> (part - 1) & 1) != 0;
      if (here && geometry_.allowed(at, part)) blob.layout.add(at, part);
    }
    if (item.not_yet) blob.unknown |= disk_bit(at);
  }
  return true;
}

RangeMerge::Page RangeMerge::finish() const {
  Page page;
  for (const auto& [id, found] : blobs_) {
    if (horizon_ && before(*horizon_, id)) continue;
    SeenBlob blob = found;
    const Geometry::Subgroup subgroup = geometry_.subgroup(id);
    for (std::uint32_t slot = 0; slot < subgroup.size; ++slot) {
      if (!contains(answered_, subgroup.order[slot])) blob.unknown |= disk_bit(slot);
    }
    const DiskSet stale = out_of_date(geometry_, blob.ingress, blob.own);
    blob.unknown |= stale;
    const bool only_flags = blob.layout.slots() == 0 && (found.unknown == 0) &&
                            layout_of(geometry_, blob.ingress).slots() == 0;
    if (!only_flags) page.blobs.push_back(blob);
  }
  if (descending()) std::ranges::reverse(page.blobs);
  if (horizon_) page.next = beyond(*horizon_, descending());
  if (page.next && before(to_, *page.next)) page.next.reset();
  return page;
}

Task<RangePage> ask_range(ProxyContext& context, ViewPtr view, RangeAsk ask) {
  RangeIndex body;
  body.from = ask.from;
  body.to = ask.to;
  body.limit = ask.limit;
  body.force_block = ask.force_block;
  RangeMerge merge(view->geometry(), ask.from, ask.to);
  GroupTally tally(view->geometry());
  Failures failures;
  RangePage result;
  Broadcast cast(context, view, body, ask.deadline);
  Instant until = ask.deadline;
  while (tally.state() != GroupTally::State::kImpossible) {
    const bool quorum = tally.state() == GroupTally::State::kQuorum;
    if (quorum && cast.all_answered()) break;
    if (quorum && until == ask.deadline) {
      until = std::min(ask.deadline, context.now() + context.health().hedge_delay(
                                                         Operation::kIndex, 0, context.now()));
    }
    const std::optional<DiskEvent> event = co_await cast.next(until);
    if (!event) break;
    const DiskReply& reply = event->reply;
    if (reply.status == Status::kDeadline && context.now() >= ask.deadline) break;
    if (reply.status == Status::kRace && context.must_restart(view, event->order, reply)) {
      result.status = Status::kRace;
      co_return result;
    }
    if (reply.status == Status::kBlocked) {
      result.status = Status::kBlocked;
      result.reason = disk_says(event->order, reply.reason);
      co_return result;
    }
    const auto* index = std::get_if<RangeIndexReply>(&reply.body);
    if (reply.status == Status::kOk && index != nullptr && merge.add(event->order, *index)) {
      tally.agreed(event->order);
      result.blocked = std::max(result.blocked, index->blocked);
    } else {
      failures.add(event->order, reply.status, reply.reason);
      tally.failed(event->order);
    }
  }
  switch (tally.state()) {
    case GroupTally::State::kQuorum:
      result.status = Status::kOk;
      result.page = merge.finish();
      break;
    case GroupTally::State::kImpossible:
      result.status = failures.status();
      result.reason = failures.reason("no group quorum");
      break;
    case GroupTally::State::kWaiting:
      result.status = Status::kDeadline;
      result.reason = failures.reason("no group quorum in time");
  }
  co_return result;
}

}  // namespace moraine::blob
