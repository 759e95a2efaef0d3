// How many requests of one peer a node serves at once, whatever their service: past that, it does
// not read the peer's connection. Services bound the requests that wait for long far below.
#pragma once

#include <cstddef>

namespace moraine {

inline constexpr std::size_t kServedRequestsMax = 1024;

}  // namespace moraine
