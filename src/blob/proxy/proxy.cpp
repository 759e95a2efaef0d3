#include "blob/proxy/proxy.h"

#include <fmt/format.h>

#include <utility>

#include "blob/proxy/context.h"
#include "blob/proxy/get.h"
#include "blob/proxy/group_call.h"
#include "blob/proxy/put.h"
#include "blob/proxy/range.h"
#include "blob/proxy/validate.h"

namespace moraine::blob {
namespace {

template <class Result, class Request>
using Once = Task<std::optional<Result>> (*)(ProxyContext&, ViewPtr, const Request&);

template <class Result, class Request>
Result ended(const Request&, Status status, std::string reason) {
  Result result;
  result.status = status;
  result.reason = std::move(reason);
  return result;
}

template <>
GetResult ended(const GetRequest& request, Status status, std::string reason) {
  GetResult result;
  result.status = status;
  result.reason = std::move(reason);
  result.items.resize(request.queries.size());
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    result.items[i].status = status;
    result.items[i].id = request.queries[i].id;
    result.items[i].shift = request.queries[i].shift;
  }
  return result;
}

// Checks the request and passes it to `once`, again after each change of the group.
template <class Result, class Request>
Task<Result> carry_out(ProxyContext& context, Request request, Once<Result, Request> once) {
  if (const auto sound = check_request(request, context.options()); !sound) {
    co_return ended<Result>(request, Status::kError, sound.error().context);
  }
  if (std::string refusal = context.refusal(); !refusal.empty()) {
    co_return ended<Result>(request, Status::kError, std::move(refusal));
  }
  if (request.deadline == Instant::never()) {
    request.deadline = context.now() + context.options().timeout;
  } else if (request.deadline <= context.now()) {
    co_return ended<Result>(request, Status::kDeadline, "the deadline has passed");
  }
  const ProxyContext::Admission admission(context);
  for (std::uint32_t restarts = 0; restarts < kRestartsMax; ++restarts) {
    std::optional<Result> result = co_await once(context, context.view(), request);
    if (result) co_return std::move(*result);
  }
  co_return ended<Result>(
      request, Status::kError,
      fmt::format("the group changed {} times during the command", kRestartsMax));
}

// The same, with metrics.
template <class Result, class Request>
Task<Result> run(ProxyContext& context, Command command, Request request,
                 Once<Result, Request> once) {
  const Instant begun = context.now();
  Result result = co_await carry_out<Result>(context, std::move(request), once);
  context.metrics().note(command, result.status, context.now() - begun);
  co_return result;
}

}  // namespace

Proxy::Proxy(World world, GroupConfig config, EndpointResolver& resolver, ProxyOptions options)
    : context_(std::make_unique<ProxyContext>(world, std::move(config), resolver, options)) {}

Proxy::~Proxy() = default;

Task<PutResult> Proxy::put(PutRequest request) {
  return run<PutResult>(*context_, Command::kPut, std::move(request), put_once);
}

Task<GetResult> Proxy::get(GetRequest request) {
  return run<GetResult>(*context_, Command::kGet, std::move(request), get_once);
}

Task<BlockResult> Proxy::block(BlockRequest request) {
  while (request.issuer == 0) request.issuer = context_->random().next();
  return run<BlockResult>(*context_, Command::kBlock, request, block_once);
}

Task<GetBlockResult> Proxy::blocked_generation(GetBlockRequest request) {
  return run<GetBlockResult>(*context_, Command::kGetBlock, request, get_block_once);
}

Task<CollectResult> Proxy::collect(CollectRequest request) {
  return run<CollectResult>(*context_, Command::kCollect, std::move(request), collect_once);
}

Task<RangeResult> Proxy::range(RangeRequest request) {
  return run<RangeResult>(*context_, Command::kRange, std::move(request), range_once);
}

Task<DiscoverResult> Proxy::discover(DiscoverRequest request) {
  return run<DiscoverResult>(*context_, Command::kDiscover, request, discover_once);
}

Task<StatusResult> Proxy::status(StatusRequest request) {
  return run<StatusResult>(*context_, Command::kStatus, request, status_once);
}

const GroupConfig& Proxy::config() const {
  return context_->view()->config;
}

void Proxy::reconfigure(GroupConfig newer) {
  context_->reconfigure(std::move(newer));
}

Task<void> Proxy::stop() {
  context_->close();
  co_await context_->joined();
}

}  // namespace moraine::blob
