#include <fmt/format.h>

#include <algorithm>

#include "blob/ingress.h"
#include "blob/proxy/get.h"
#include "blob/proxy/range.h"
#include "blob/proxy/range_page.h"

namespace moraine::blob {
namespace {

constexpr Channel kLogChannel = 0;
// Between two reads of a blob when disks disagree whether it is collected.
constexpr Duration kCollectPauseFirst = 50ms;
constexpr Duration kCollectPauseMax = 1s;
// How long to wait for the disks that knew such a blob.
constexpr Duration kWitnessWait = 2s;

class DiscoverRun {
 public:
  DiscoverRun(ProxyContext& context, ViewPtr view, const DiscoverRequest& request)
      : context_(context), view_(std::move(view)), request_(request) {
    if (request.force_blocked_generation != 0) {
      force_block_ = TabletGeneration{request.tablet, request.force_blocked_generation};
    }
  }

  Task<std::optional<DiscoverResult>> run();

 private:
  // kOk: it is the result. kNoData: it was never confirmed, or is collected: try the next blob.
  // Other statuses end the search.
  Task<Status> try_blob(SeenBlob blob);
  Task<Status> read_blob(SeenBlob blob);
  // Whether some disk knows that it was confirmed: then it may not be skipped.
  bool was_confirmed(const SeenBlob& blob) const;
  // Why a confirmed blob could not be read. kNoData: it was collected since its index entry was
  // read, as every disk that knew it as confirmed reports. kError with looks_lost_ set: it is lost,
  // or not all of these disks report that.
  Task<Status> explain_loss(SeenBlob blob);

  ProxyContext& context_;
  ViewPtr view_;
  const DiscoverRequest& request_;
  std::optional<TabletGeneration> force_block_;
  DiscoverResult result_;
  // What explain_loss() found last.
  bool looks_lost_ = false;
  bool still_confirmed_ = false;  // A disk still lists it as confirmed and kept.
  bool silent_witness_ = false;   // A disk that knew it has not answered.
};

Task<Status> DiscoverRun::try_blob(SeenBlob blob) {
  Duration pause = kCollectPauseFirst;
  for (;;) {
    Status status = co_await read_blob(blob);
    if (status == Status::kNoData && was_confirmed(blob)) status = co_await explain_loss(blob);
    // A barrier may have reached some disks and not yet the others: it will soon.
    const bool may_change = status == Status::kError && looks_lost_;
    if (!may_change) co_return status;
    if (context_.now() + pause >= request_.deadline) {
      co_return silent_witness_ && !still_confirmed_ ? Status::kDeadline : Status::kError;
    }
    co_await sleep_for(context_.executor(), pause);
    pause = std::min(2 * pause, kCollectPauseMax);
  }
}

Task<Status> DiscoverRun::read_blob(SeenBlob blob) {
  const Geometry& geometry = view_->geometry();
  looks_lost_ = false;
  Status status = Status::kNoData;
  if (confirmed(geometry, blob.layout) && !request_.read_body) {
    status = Status::kOk;
  } else if (judge(geometry, blob.layout, blob.unknown) != Verdict::kAbsent) {
    GetRequest get;
    get.queries.push_back({blob.id});
    get.deadline = request_.deadline;
    get.must_restore = true;
    get.index_only = !request_.read_body;
    get.force_block = force_block_;
    std::optional<GetResult> got = co_await get_once(context_, view_, get);
    if (!got) co_return Status::kRace;
    status = got->items.front().status;
    result_.body = std::move(got->items.front().data);
    result_.reason = std::move(got->reason);
  }
  if (status == Status::kOk) {
    result_.id = blob.id;
    result_.reason.clear();
  }
  co_return status;
}

bool DiscoverRun::was_confirmed(const SeenBlob& blob) const {
  return confirmed(view_->geometry(), layout_of(view_->geometry(), blob.ingress));
}

Task<Status> DiscoverRun::explain_loss(SeenBlob blob) {
  const DiskSet witnesses = blob.confirmed_by != 0 ? blob.confirmed_by : blob.listed_by;
  RangeAsk ask;
  ask.from = blob.id;
  ask.to = blob.id;
  ask.limit = 1;
  ask.force_block = force_block_;
  ask.wait_for = witnesses;
  ask.deadline = std::min(request_.deadline, context_.now() + kWitnessWait);
  RangePage page = co_await ask_range(context_, view_, ask);
  still_confirmed_ = false;
  result_.reason = std::move(page.reason);
  silent_witness_ = (witnesses & ~page.answered) != 0;
  if (page.status == Status::kDeadline && context_.now() < request_.deadline) {
    looks_lost_ = true;
    co_return Status::kError;
  }
  if (page.status != Status::kOk) co_return page.status;
  DiskSet listed_by = 0;
  for (const SeenBlob& now : page.page.blobs) {
    listed_by |= now.listed_by;
    still_confirmed_ = still_confirmed_ || was_confirmed(now);
  }
  const DiskSet denied = page.answered & ~listed_by;
  if (!still_confirmed_ && (witnesses & ~denied) == 0) co_return Status::kNoData;
  looks_lost_ = true;
  result_.reason = fmt::format(
      "{} was confirmed and cannot be restored{}", blob.id.to_string(),
      still_confirmed_ ? "" : "; not all disks that knew it report that it was collected");
  co_return Status::kError;
}

Task<std::optional<DiscoverResult>> DiscoverRun::run() {
  RangeAsk ask;
  ask.from = BlobId::highest(request_.tablet, kLogChannel);
  ask.to = BlobId::lowest(request_.tablet, kLogChannel, GenStep{request_.min_generation, 0});
  ask.limit = view_->geometry().species() == Species::kMirror3dc ? kDiscoverBatchMirror3dc
                                                                 : kDiscoverBatchFirst;
  ask.force_block = force_block_;
  ask.deadline = request_.deadline;
  Generation blocked = 0;
  bool last = false;
  result_.status = Status::kNoData;
  while (!last && result_.status == Status::kNoData) {
    RangePage page = co_await ask_range(context_, view_, ask);
    if (page.status == Status::kRace) co_return std::nullopt;
    blocked = std::max(blocked, page.blocked);
    if (page.status != Status::kOk) {
      result_.status = page.status;
      result_.reason = std::move(page.reason);
      break;
    }
    for (const SeenBlob& blob : page.page.blobs) {
      result_.status = co_await try_blob(blob);
      if (result_.status == Status::kRace) co_return std::nullopt;
      if (result_.status != Status::kNoData) break;
    }
    last = !page.page.next;
    if (!last) ask.from = *page.page.next;
    ask.limit = std::min(ask.limit * 2, kDiscoverBatchMax);
  }
  if (result_.status != Status::kOk) result_.body = Slice();
  if (request_.discover_blocked) result_.blocked = blocked;
  co_return std::move(result_);
}

// Every confirmed blob of the log, newest first.
Task<std::optional<DiscoverResult>> list_once(ProxyContext& context, ViewPtr view,
                                              const DiscoverRequest& request) {
  RangeRequest range;
  range.from = BlobId::highest(request.tablet, kLogChannel);
  range.to = BlobId::lowest(request.tablet, kLogChannel, GenStep{request.min_generation, 0});
  range.must_restore = true;
  range.index_only = !request.read_body;
  range.deadline = request.deadline;
  if (request.force_blocked_generation != 0) {
    range.force_block = TabletGeneration{request.tablet, request.force_blocked_generation};
  }
  std::optional<RangeResult> found = co_await range_once(context, std::move(view), range);
  if (!found) co_return std::nullopt;
  DiscoverResult result;
  result.status = found->status;
  result.reason = std::move(found->reason);
  if (request.discover_blocked) result.blocked = found->blocked;
  result.blobs = std::move(found->items);
  if (result.status == Status::kOk && result.blobs.empty()) result.status = Status::kNoData;
  if (!result.blobs.empty()) {
    result.id = result.blobs.front().id;
    result.body = result.blobs.front().data;
  }
  co_return result;
}

}  // namespace

Task<std::optional<DiscoverResult>> discover_once(ProxyContext& context, ViewPtr view,
                                                  const DiscoverRequest& request) {
  if (request.list) co_return co_await list_once(context, std::move(view), request);
  DiscoverRun run(context, std::move(view), request);
  co_return co_await run.run();
}

}  // namespace moraine::blob
