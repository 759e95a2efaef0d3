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
    blob.listed_by |= disk_bit(order);
    if (confirmed(geometry_, layout_of(geometry_, item.ingress))) {
      blob.confirmed_by |= disk_bit(order);
    }
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

namespace {

// One request to every disk, and the replies.
class RangeRound {
 public:
  RangeRound(ProxyContext& context, ViewPtr view, const RangeAsk& ask)
      : context_(context),
        view_(std::move(view)),
        deadline_(ask.deadline),
        wait_for_(ask.wait_for),
        expires_(context.now() + context.options().ok_lifetime),
        merge_(view_->geometry(), ask.from, ask.to),
        tally_(view_->geometry()),
        cast_(context, view_, body_of(ask), ask.deadline) {}

  // nullopt: the answers of this round have expired.
  Task<std::optional<RangePage>> run();

 private:
  static RangeIndex body_of(const RangeAsk& ask) {
    RangeIndex body;
    body.from = ask.from;
    body.to = ask.to;
    body.limit = ask.limit;
    body.force_block = ask.force_block;
    return body;
  }
  // True when the reply ends the page, with result_.
  bool take(const DiskEvent& event);
  // How long to wait for answers beyond a quorum.
  Duration extra_wait() const;
  RangePage finish();

  ProxyContext& context_;
  ViewPtr view_;
  Instant deadline_;
  DiskSet wait_for_;  // Without those that have answered or failed.
  Instant expires_;
  RangeMerge merge_;
  GroupTally tally_;
  Failures failures_;
  RangePage result_;
  Broadcast cast_;
};

bool RangeRound::take(const DiskEvent& event) {
  const DiskReply& reply = event.reply;
  if (reply.status == Status::kRace && context_.must_restart(view_, reply)) {
    result_.status = Status::kRace;
    return true;
  }
  if (reply.status == Status::kBlocked) {
    result_.status = Status::kBlocked;
    result_.reason = disk_reason(event.order, reply.reason);
    return true;
  }
  wait_for_ &= ~disk_bit(event.order);
  const auto* index = std::get_if<RangeIndexReply>(&reply.body);
  if (reply.status == Status::kOk && index != nullptr && merge_.add(event.order, *index)) {
    tally_.agreed(event.order);
    result_.blocked = std::max(result_.blocked, index->blocked);
  } else {
    failures_.add(event.order, reply.status, reply.reason);
    tally_.failed(event.order);
  }
  return false;
}

Duration RangeRound::extra_wait() const {
  if (wait_for_ != 0) return context_.options().ok_lifetime / 2;
  return context_.health().hedge_delay(Operation::kIndex, 0, context_.now());
}

RangePage RangeRound::finish() {
  switch (tally_.state()) {
    case GroupTally::State::kQuorum:
      result_.status = Status::kOk;
      result_.page = merge_.finish();
      result_.answered = tally_.agreed();
      break;
    case GroupTally::State::kImpossible:
      result_.status = failures_.status();
      result_.reason = failures_.reason("no group quorum");
      break;
    case GroupTally::State::kWaiting:
      result_.status = Status::kDeadline;
      result_.reason = failures_.reason("no group quorum in time");
  }
  return std::move(result_);
}

Task<std::optional<RangePage>> RangeRound::run() {
  const bool waits = wait_for_ != 0;
  bool hurried = false;
  Instant until = std::min(deadline_, expires_);
  while (tally_.state() != GroupTally::State::kImpossible) {
    const bool quorum = tally_.state() == GroupTally::State::kQuorum;
    if (quorum && (cast_.all_answered() || (waits && wait_for_ == 0))) break;
    if (quorum && !hurried) {
      hurried = true;
      until = std::min(until, context_.now() + extra_wait());
    }
    const std::optional<DiskEvent> event = co_await cast_.next(until);
    if (!event) break;
    if (event->reply.status == Status::kDeadline && context_.now() >= deadline_) break;
    if (take(*event)) co_return std::move(result_);
  }
  const bool expired = context_.now() >= expires_;
  const bool open = tally_.state() != GroupTally::State::kImpossible;
  if (expired && open) co_return std::nullopt;
  co_return finish();
}

}  // namespace

Task<RangePage> ask_range(ProxyContext& context, ViewPtr view, RangeAsk ask) {
  for (;;) {
    RangeRound round(context, view, ask);
    std::optional<RangePage> page = co_await round.run();
    if (page) co_return std::move(*page);
    if (context.now() >= ask.deadline) break;
  }
  RangePage late;
  late.status = Status::kDeadline;
  late.reason = "no group quorum in time";
  co_return late;
}

}  // namespace moraine::blob
