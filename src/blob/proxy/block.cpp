// Block and blocked generation.
#include <fmt/format.h>

#include "blob/proxy/group_call.h"

namespace moraine::blob {

Task<std::optional<BlockResult>> block_once(ProxyContext& context, ViewPtr view,
                                            const BlockRequest& request) {
  BlockTablet body;
  body.tablet = request.tablet;
  body.generation = request.blocked();
  body.issuer = request.issuer;
  // kOk means that a quorum stored the block of this issuer.
  GroupAnswer answer =
      co_await call_group(context, view, body, AlreadyMeans::kFailed, request.deadline);
  if (answer.status == Status::kRace) co_return std::nullopt;
  BlockResult result;
  result.status = answer.status;
  result.reason = std::move(answer.reason);
  if (result.status == Status::kAlready) {
    result.reason = fmt::format("generation {} of tablet {} or a higher one is already blocked",
                                request.blocked(), request.tablet.value);
  }
  co_return result;
}

Task<std::optional<GetBlockResult>> get_block_once(ProxyContext& context, ViewPtr view,
                                                   const GetBlockRequest& request) {
  GetBlock body;
  body.tablet = request.tablet;
  GroupAnswer answer =
      co_await call_group(context, view, body, AlreadyMeans::kFailed, request.deadline);
  if (answer.status == Status::kRace) co_return std::nullopt;
  GetBlockResult result;
  result.status = answer.status;
  result.reason = std::move(answer.reason);
  if (result.status == Status::kOk) result.blocked = answer.blocked;
  co_return result;
}

}  // namespace moraine::blob
