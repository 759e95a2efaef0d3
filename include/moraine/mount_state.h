// MountState: what a tablet of a table is doing, with the names of YTsaurus.
#pragma once

#include <cstdint>
#include <string_view>

namespace moraine {

// The numbers of all states before kMounting are stored (src/scheme/table_record.h).
enum class MountState : std::uint8_t {
  kUnmounted = 0,
  kMounted = 1,  // Readable and writable.
  kFrozen = 2,   // Readable; all rows are flushed.
  kUnmounting = 3,
  kFreezing = 4,
  // Reported of a tablet that is to be mounted or frozen and does not run yet.
  kMounting = 5,
  kFrozenMounting = 6,
};

// For example "frozen_mounting".
std::string_view to_string(MountState state);

}  // namespace moraine
