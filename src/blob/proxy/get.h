// Get: ranges of many blobs, with or without restoring them first.
#pragma once

#include <optional>

#include "blob/proxy/context.h"
#include "blob/proxy/requests.h"

namespace moraine::blob {

inline constexpr std::size_t kRestoresAtOnce = 16;

// One attempt on `view`; nullopt: a newer config is known, start again.
Task<std::optional<GetResult>> get_once(ProxyContext& context, ViewPtr view,
                                        const GetRequest& request);

// The same for a group of one disk. Requires: view->geometry().disks() == 1.
Task<std::optional<GetResult>> get_single(ProxyContext& context, ViewPtr view,
                                          const GetRequest& request);

// Bytes that the query requests.
std::uint32_t asked_bytes(const GetQuery& query);

}  // namespace moraine::blob
