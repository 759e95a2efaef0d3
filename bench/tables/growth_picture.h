// Lookups per second over rows, as an SVG picture: both axes from the smallest value to the
// largest, rows in powers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace moraine::bench {

struct GrowthPoint {
  std::uint64_t rows = 0;
  double ours = 0;  // Lookups a second.
  double peer = 0;
};

// Requires: at least two points, rows increasing.
std::string growth_picture(const std::vector<GrowthPoint>& points);

}  // namespace moraine::bench
