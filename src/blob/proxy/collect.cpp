// Collect: keep flags and barriers.
#include <algorithm>

#include "blob/proxy/group_call.h"

namespace moraine::blob {

std::vector<Collect> split_collect(const CollectRequest& request) {
  std::vector<Collect> messages;
  const std::size_t flags = request.keep.size() + request.do_not_keep.size();
  std::size_t at = 0;
  do {
    Collect message;
    message.tablet = request.tablet;
    message.channel = request.channel;
    message.record_generation = request.record_generation;
    message.counter = request.counter + static_cast<std::uint32_t>(messages.size());
    const std::size_t end = std::min(flags, at + kFlagsMax);
    for (; at < end; ++at) {
      const std::size_t kept = request.keep.size();
      if (at < kept) {
        message.keep.push_back(request.keep[at]);
      } else {
        message.do_not_keep.push_back(request.do_not_keep[at - kept]);
      }
    }
    if (at == flags) {
      message.barrier = request.barrier;
      message.hard = request.hard;
    }
    messages.push_back(std::move(message));
  } while (at < flags);
  return messages;
}

Task<std::optional<CollectResult>> collect_once(ProxyContext& context, ViewPtr view,
                                                const CollectRequest& request) {
  CollectResult result;
  for (Collect& message : split_collect(request)) {
    ++result.counters_used;
    GroupAnswer answer = co_await call_group(context, view, std::move(message),
                                             AlreadyMeans::kAgreed, request.deadline);
    if (answer.status == Status::kRace) co_return std::nullopt;
    // ALREADY counts as agreement, so a quorum that cannot be reached is an error.
    result.status = answer.status == Status::kAlready ? Status::kError : answer.status;
    result.reason = std::move(answer.reason);
    if (result.status != Status::kOk) break;
  }
  co_return result;
}

}  // namespace moraine::blob
