// Range and discover.
#pragma once

#include <optional>

#include "blob/proxy/context.h"
#include "blob/proxy/requests.h"

namespace moraine::blob {

// Discover reads this many ids first, then twice as many, up to the maximum.
inline constexpr std::uint32_t kDiscoverBatchFirst = 10;
inline constexpr std::uint32_t kDiscoverBatchMirror3dc = 100;
inline constexpr std::uint32_t kDiscoverBatchMax = 1'000;

// One attempt on `view`; nullopt: a newer config is known, start again.
Task<std::optional<RangeResult>> range_once(ProxyContext& context, ViewPtr view,
                                            const RangeRequest& request);
Task<std::optional<DiscoverResult>> discover_once(ProxyContext& context, ViewPtr view,
                                                  const DiscoverRequest& request);

}  // namespace moraine::blob
