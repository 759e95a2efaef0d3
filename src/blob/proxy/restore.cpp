#include "blob/proxy/restore.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "blob/group/erasure.h"
#include "blob/proxy/put.h"
#include "blob/proxy/read_session.h"

namespace moraine::blob {
namespace {

struct WholeBlob {
  Status status = Status::kError;
  std::string reason;
  Slice data;
  PartLayout broken;
};

Task<WholeBlob> read_whole(ProxyContext& context, ViewPtr view, BlobId id, Instant deadline) {
  DataPlan plan(view->geometry(), id, 0, id.size(), read_preference(context, *view));
  ReadMode mode;
  mode.deadline = deadline;
  std::vector<ReadPlan*> plans{&plan};
  ReadSession session(context, view, std::move(mode), std::move(plans));
  WholeBlob whole;
  whole.status = co_await session.run();
  if (whole.status == Status::kOk) {
    whole.status = plan.status();
    whole.data = plan.data();
  }
  whole.broken = plan.broken();
  if (whole.status != Status::kOk) whole.reason = session.reason("the blob cannot be read");
  co_return whole;
}

Task<void> repair(ProxyContext& context, ViewPtr view, BlobId id, PartLayout broken) {
  const Instant deadline = context.now() + context.options().timeout;
  const WholeBlob whole = co_await read_whole(context, view, id, deadline);
  std::vector<Slice> parts;
  if (whole.status == Status::kOk) parts = split(view->geometry().species(), whole.data);
  const Geometry::Subgroup subgroup = view->geometry().subgroup(id);
  bool done = !parts.empty();
  for (std::uint32_t slot = 0; slot < subgroup.size && !parts.empty(); ++slot) {
    for (std::uint32_t part = 1; part <= parts.size(); ++part) {
      if (!broken.has(slot, part)) continue;
      PutPart body;
      body.id = id.with_part(part);
      body.data = parts[part - 1];
      body.ignore_block = true;
      const DiskReply reply = co_await context.call(view, subgroup.order[slot], std::move(body),
                                                    deadline, Operation::kWrite);
      done = done && (reply.status == Status::kOk || reply.status == Status::kAlready);
    }
  }
  if (!done) log_warning("a broken part was not repaired", {{"blob", id.to_string()}});
  context.end_repair(id);
}

}  // namespace

ReadPreference read_preference(ProxyContext& context, const GroupView& view) {
  ReadPreference preference;
  const std::uint32_t disks = view.geometry().disks();
  preference.avoid = context.health().avoid(Operation::kRead, context.now());
  std::array<std::uint8_t, kGroupDisksMax> by_speed{};
  std::array<Duration, kGroupDisksMax> predicted{};
  std::iota(by_speed.begin(), by_speed.end(), std::uint8_t{0});
  for (std::uint32_t order = 0; order < disks; ++order) {
    predicted[order] = context.health().predicted(order, Operation::kRead, context.now());
  }
  std::ranges::sort(by_speed.begin(), by_speed.begin() + disks, {},
                    [&](std::uint8_t order) { return std::pair(predicted[order], order); });
  for (std::uint32_t i = 0; i < disks; ++i) {
    preference.rank[by_speed[i]] = static_cast<std::uint8_t>(i);
  }
  return preference;
}

Task<Restored> restore_blob(ProxyContext& context, ViewPtr view, const ScanPlan& scan,
                            Instant deadline) {
  Restored restored;
  WholeBlob whole = co_await read_whole(context, view, scan.id(), deadline);
  restored.status = whole.status;
  restored.reason = std::move(whole.reason);
  if (whole.status != Status::kOk) co_return restored;

  const Geometry& geometry = view->geometry();
  const DiskSet avoid = context.health().avoid(Operation::kWrite, context.now());
  PutPlan plan(geometry, slots_of(scan.subgroup(), avoid) | scan.silent(),
               context.options().ok_lifetime);
  for (const ScanPlan::Seen& seen : scan.seen()) {
    if (whole.broken.has(seen.place.slot, seen.place.part)) continue;
    plan.seed(seen.place, seen.origin.incarnation, seen.origin.at);
  }
  PartWrites writes;
  writes.id = scan.id();
  writes.parts = split(geometry.species(), whole.data);
  writes.ignore_block = true;
  std::optional<PutResult> written =
      co_await write_parts(context, view, writes, std::move(plan), deadline);
  restored.status = written ? written->status : Status::kRace;
  if (written) restored.reason = std::move(written->reason);
  restored.blob = std::move(whole.data);
  co_return restored;
}

void repair_in_background(ProxyContext& context, ViewPtr view, const BlobId& id,
                          const PartLayout& broken) {
  if (!context.begin_repair(id)) return;
  context.background().spawn(repair(context, std::move(view), id, broken));
}

}  // namespace moraine::blob
