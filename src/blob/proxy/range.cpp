#include "blob/proxy/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "blob/ingress.h"
#include "blob/proxy/get.h"
#include "blob/proxy/range_page.h"

namespace moraine::blob {
namespace {

class RangeRun {
 public:
  RangeRun(ProxyContext& context, ViewPtr view, const RangeRequest& request)
      : context_(context), view_(std::move(view)), request_(request) {}

  Task<std::optional<RangeResult>> run();

 private:
  // Each returns kOk, or the status that ends the range.
  Task<Status> take_page(std::vector<SeenBlob> blobs);
  Task<Status> take_batch(std::span<const SeenBlob> blobs);
  std::size_t batch_size(std::span<const SeenBlob> rest) const;
  std::size_t room() const;
  Status overflow(bool rest_left);
  bool needs_get(const SeenBlob& blob) const;

  ProxyContext& context_;
  ViewPtr view_;
  const RangeRequest& request_;
  RangeResult result_;
  std::size_t bytes_ = 0;
};

std::size_t RangeRun::room() const {
  const std::size_t limit = request_.limit == 0 ? kRangeIdsMax : request_.limit;
  return limit - std::min(limit, result_.items.size());
}

bool RangeRun::needs_get(const SeenBlob& blob) const {
  if (!request_.index_only) return true;
  return request_.must_restore && !confirmed(view_->geometry(), blob.layout);
}

// How many of `rest` fit into the result.
std::size_t RangeRun::batch_size(std::span<const SeenBlob> rest) const {
  const std::size_t count = std::min(rest.size(), room());
  if (request_.index_only) return count;
  std::size_t bytes = bytes_;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += rest[i].id.size();
    if (bytes > kGetBytesMax) return i;
  }
  return count;
}

// Nothing more fits. kOk when the caller set a limit.
Status RangeRun::overflow(bool rest_left) {
  if (!rest_left) return Status::kOk;
  result_.more = true;
  if (request_.limit != 0) return Status::kOk;
  result_.reason = fmt::format("the range holds more than {} ids or {} bytes: set a limit",
                               kRangeIdsMax, kGetBytesMax);
  return Status::kError;
}

Task<Status> RangeRun::take_batch(std::span<const SeenBlob> blobs) {
  GetRequest get;
  get.deadline = request_.deadline;
  get.must_restore = request_.must_restore;
  get.index_only = request_.index_only;
  get.force_block = request_.force_block;
  for (const SeenBlob& blob : blobs) {
    if (needs_get(blob)) get.queries.push_back({blob.id});
  }
  GetResult got;
  got.status = Status::kOk;
  if (!get.queries.empty()) {
    std::optional<GetResult> attempt = co_await get_once(context_, view_, get);
    if (!attempt) co_return Status::kRace;
    got = std::move(*attempt);
  }
  result_.reason = std::move(got.reason);
  if (got.status != Status::kOk) co_return got.status;
  std::size_t next = 0;
  for (const SeenBlob& blob : blobs) {
    RangeFound found;
    found.id = blob.id;
    found.keep = keep_flag(blob.ingress);
    found.do_not_keep = do_not_keep_flag(blob.ingress);
    if (needs_get(blob)) {
      GetItem& item = got.items[next++];
      if (item.status == Status::kNoData) continue;
      if (item.status != Status::kOk) co_return item.status;
      found.data = std::move(item.data);
      found.keep = found.keep || item.keep;
      found.do_not_keep = found.do_not_keep || item.do_not_keep;
    }
    bytes_ += found.data.size();
    result_.items.push_back(std::move(found));
  }
  result_.reason.clear();
  co_return Status::kOk;
}

Task<Status> RangeRun::take_page(std::vector<SeenBlob> blobs) {
  if (request_.must_restore) {
    std::erase_if(blobs, [&](const SeenBlob& blob) {
      return judge(view_->geometry(), blob.layout, blob.unknown) == Verdict::kAbsent;
    });
  }
  std::span<const SeenBlob> rest(blobs);
  while (!rest.empty()) {
    const std::size_t count = batch_size(rest);
    if (count == 0) co_return overflow(true);
    const Status status = co_await take_batch(rest.first(count));
    if (status != Status::kOk) co_return status;
    rest = rest.subspan(count);
  }
  co_return Status::kOk;
}

Task<std::optional<RangeResult>> RangeRun::run() {
  RangeAsk ask;
  ask.from = request_.from;
  ask.to = request_.to;
  ask.limit = static_cast<std::uint32_t>(kRangeItemsMax);
  if (request_.limit != 0) ask.limit = std::min(ask.limit, request_.limit);
  ask.force_block = request_.force_block;
  ask.deadline = request_.deadline;
  for (;;) {
    RangePage page = co_await ask_range(context_, view_, ask);
    if (page.status == Status::kRace) co_return std::nullopt;
    result_.status = page.status;
    result_.reason = std::move(page.reason);
    result_.blocked = std::max(result_.blocked, page.blocked);
    if (page.status != Status::kOk) break;
    result_.status = co_await take_page(std::move(page.page.blobs));
    if (result_.status == Status::kRace) co_return std::nullopt;
    if (result_.status != Status::kOk || result_.more || !page.page.next) break;
    if (room() == 0) {
      result_.status = overflow(true);
      break;
    }
    ask.from = *page.page.next;
  }
  if (result_.status != Status::kOk) result_.items.clear();
  co_return std::move(result_);
}

}  // namespace

Task<std::optional<RangeResult>> range_once(ProxyContext& context, ViewPtr view,
                                            const RangeRequest& request) {
  RangeRun run(context, std::move(view), request);
  co_return co_await run.run();
}

}  // namespace moraine::blob
