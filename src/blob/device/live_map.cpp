#include "blob/device/live_map.h"

#include "blob/device/batch.h"
#include "io/disk.h"

namespace moraine::blob {

LiveMap::LiveMap(const std::vector<std::uint32_t>& segments, std::uint32_t segment_bytes)
    : segment_bytes_(segment_bytes) {
  for (const std::uint32_t segment : segments) {
    segments_[segment].live.resize(segment_bytes / kSectorSize, false);
  }
}

void LiveMap::add(const Location& location) {
  const auto found = segments_.find(location.segment);
  if (found == segments_.end()) return;
  Sectors& sectors = found->second;
  const std::uint32_t table = table_bytes(location.size);
  const std::uint64_t end = std::uint64_t{location.offset} + location.size;
  if (table > location.offset || end > segment_bytes_) {
    sectors.sound = false;
    return;
  }
  sectors.bytes += location.size;
  const std::uint64_t last = align_up(end, kSectorSize) / kSectorSize;
  for (std::uint64_t i = (location.offset - table) / kSectorSize; i < last; ++i) {
    sectors.live[i] = true;
  }
}

std::optional<std::uint64_t> LiveMap::bytes(std::uint32_t segment) const {
  const Sectors& sectors = segments_.at(segment);
  return sectors.sound ? std::optional(sectors.bytes) : std::nullopt;
}

std::vector<LiveMap::Gap> LiveMap::gaps(std::uint32_t segment, std::uint32_t least) const {
  const std::vector<bool>& live = segments_.at(segment).live;
  std::vector<Gap> found;
  for (std::size_t at = 0; at < live.size();) {
    std::size_t end = at;
    while (end < live.size() && !live[end]) ++end;
    const std::uint64_t size = (end - at) * kSectorSize;
    if (size > 0 && size >= least) {
      found.push_back(
          {static_cast<std::uint32_t>(at * kSectorSize), static_cast<std::uint32_t>(size)});
    }
    at = end + 1;
  }
  return found;
}

}  // namespace moraine::blob
