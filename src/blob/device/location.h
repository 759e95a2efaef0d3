// Location: where the data of one record is stored on a device.
#pragma once

#include <cstdint>

namespace moraine::blob {

struct Location {
  std::uint32_t segment = 0;
  std::uint32_t offset = 0;  // In bytes, within the segment.
  std::uint32_t size = 0;
  std::uint32_t crc = 0;  // data_crc of the record (see batch.h).
  bool operator==(const Location&) const = default;
};

// A device hosts up to this many owners (VDisks); slots are numbered from 1, 0 is the device
// itself.
inline constexpr std::uint32_t kOwnersMax = 240;
using OwnerSlot = std::uint8_t;
inline constexpr OwnerSlot kDeviceSlot = 0;

}  // namespace moraine::blob
