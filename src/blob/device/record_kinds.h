// Record kinds that the device itself writes; owners use the kinds below them.
#pragma once

#include <cstdint>

namespace moraine::blob {

inline constexpr std::uint8_t kDeviceRecordKinds = 250;
inline constexpr std::uint8_t kManifestRecord = 250;
inline constexpr std::uint8_t kChunkRecord = 251;

}  // namespace moraine::blob
