#include "blob/proxy/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "blob/proxy/get.h"

namespace moraine::blob {
namespace {

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

Result<void> check_tablet(TabletId tablet) {
  if (tablet.value == 0) return wrong("the tablet is not set");
  return {};
}

Result<void> check_flags(const CollectRequest& request) {
  std::vector<BlobId> all = request.keep;
  all.insert(all.end(), request.do_not_keep.begin(), request.do_not_keep.end());
  for (const BlobId& id : all) {
    if (id.tablet() != request.tablet || id.channel() != request.channel || id.part() != 0) {
      return wrong(fmt::format("{} is not a blob of tablet {} channel {}", id.to_string(),
                               request.tablet.value, request.channel));
    }
  }
  std::ranges::sort(all);
  const auto twice = std::ranges::adjacent_find(all);
  if (twice != all.end()) return wrong(fmt::format("{} is named twice", twice->to_string()));
  return {};
}

}  // namespace

Result<void> check_request(const PutRequest& request) {
  TRY_VOID(check_puttable(request.id, request.data.size()));
  for (const TabletGeneration& extra : request.extra_blocks) {
    TRY_VOID(check_tablet(extra.tablet));
  }
  return {};
}

Result<void> check_request(const GetRequest& request) {
  if (request.queries.size() > kGetQueriesMax) {
    return wrong(
        fmt::format("{} queries, at most {} are allowed", request.queries.size(), kGetQueriesMax));
  }
  std::size_t bytes = 0;
  for (const GetQuery& query : request.queries) {
    const BlobId& id = query.id;
    TRY_VOID(check_tablet(id.tablet()));
    if (id.part() != 0) return wrong(fmt::format("{} names a part", id.to_string()));
    if (id.size() == 0 || id.size() > kBlobSizeMax) {
      return wrong(fmt::format("{} has a size of 0 or over the maximum", id.to_string()));
    }
    if (query.shift >= id.size()) {
      return wrong(fmt::format("shift {} is past the end of {}", query.shift, id.to_string()));
    }
    bytes += asked_bytes(query);
  }
  if (!request.index_only && bytes > kGetBytesMax) {
    return wrong(fmt::format("{} bytes requested, at most {} are allowed", bytes, kGetBytesMax));
  }
  return {};
}

Result<void> check_request(const BlockRequest& request) {
  TRY_VOID(check_tablet(request.tablet));
  if (request.generation == 0) {
    return wrong("the generation is 0; the first generation of a tablet is 1");
  }
  return {};
}

Result<void> check_request(const GetBlockRequest& request) {
  return check_tablet(request.tablet);
}

Result<void> check_request(const CollectRequest& request) {
  TRY_VOID(check_tablet(request.tablet));
  const std::size_t flags = request.keep.size() + request.do_not_keep.size();
  if (flags == 0 && !request.barrier) return wrong("neither a barrier nor flags");
  const std::size_t messages = std::max<std::size_t>(1, (flags + kFlagsMax - 1) / kFlagsMax);
  if (messages - 1 > std::numeric_limits<std::uint32_t>::max() - request.counter) {
    return wrong(
        fmt::format("{} messages from counter {} on exceed the counters of this generation",
                    messages, request.counter));
  }
  return check_flags(request);
}

Result<void> check_request(const CollectRequest& request, const ProxyOptions& options) {
  const std::size_t flags = request.keep.size() + request.do_not_keep.size();
  if (flags > options.collect_flags) {
    return wrong(fmt::format("{} flags, at most {} are allowed", flags, options.collect_flags));
  }
  return check_request(request);
}

Result<void> check_request(const RangeRequest& request) {
  TRY_VOID(check_tablet(request.from.tablet()));
  if (request.from.tablet() != request.to.tablet()) return wrong("the range spans two tablets");
  if (request.from.channel() != request.to.channel()) return wrong("the range spans two channels");
  if (request.limit > kRangeIdsMax) {
    return wrong(fmt::format("limit {}, at most {} is allowed", request.limit, kRangeIdsMax));
  }
  return {};
}

Result<void> check_request(const DiscoverRequest& request) {
  return check_tablet(request.tablet);
}

Result<void> check_request(const StatusRequest&) {
  return {};
}

}  // namespace moraine::blob
