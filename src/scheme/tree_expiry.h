// When nodes of the tree expire, by their attributes expiration_time and expiration_timeout.
//
// Promise    Pure. expiration_time is kept as milliseconds since 1970, expiration_timeout as
//            milliseconds since the last access; the earlier of both counts.
// Tests      node/tree_model_test.cpp, node/tree_transactions_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "scheme/path_node.h"

namespace moraine {

inline constexpr std::string_view kExpirationTime = "expiration_time";
inline constexpr std::string_view kExpirationTimeout = "expiration_timeout";

// nullopt: never. `accessed_ms`: the last access that is known, stored or not.
std::optional<std::uint64_t> expires_at(const PathNode& node, std::uint64_t accessed_ms = 0);
// How long accesses may be known without being stored: nothing expires for that much longer.
std::uint64_t access_slack_ms(std::uint64_t timeout_ms);
// 0: none.
std::uint64_t expiration_timeout_of(const PathNode& node);

}  // namespace moraine
