// How many seeds a test of a campaign runs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace moraine::sim {

// A tenth under the thread sanitizer, which makes a seed ten times slower and has nothing to find
// in a world of one thread; a fifth under the address sanitizer.
constexpr std::uint64_t seeds_of_test(std::uint64_t seeds) {
#if __has_feature(thread_sanitizer)
  return std::max<std::uint64_t>(seeds / 10, 1);
#elif __has_feature(address_sanitizer)
  return std::max<std::uint64_t>(seeds / 5, 1);
#else
  return seeds;
#endif
}

}  // namespace moraine::sim
