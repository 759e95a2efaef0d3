// LiveMap: which sectors of some sealed segments hold live data.
//
// Promise    gaps() names only sectors that no extent added so far touches, data and checksum
//            table alike.
// Threading  The device's executor.
// Limits     A bit for each sector of the segments it is made for.
// Tests      live_map_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "blob/device/location.h"

namespace moraine::blob {

class LiveMap {
 public:
  LiveMap(const std::vector<std::uint32_t>& segments, std::uint32_t segment_bytes);

  // Adds one live extent; extents of other segments are ignored.
  void add(const Location& location);

  // Bytes of the extents added for this segment; nullopt when one of them is invalid.
  std::optional<std::uint64_t> bytes(std::uint32_t segment) const;
  struct Gap {
    std::uint32_t offset = 0;  // Within the segment.
    std::uint32_t size = 0;
  };
  // Runs of free sectors of at least `least` bytes, in order.
  std::vector<Gap> gaps(std::uint32_t segment, std::uint32_t least) const;

 private:
  struct Sectors {
    std::uint64_t bytes = 0;
    bool sound = true;
    std::vector<bool> live;
  };
  std::uint32_t segment_bytes_;
  std::map<std::uint32_t, Sectors> segments_;
};

}  // namespace moraine::blob
