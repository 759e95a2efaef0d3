#include "moraine/mount_state.h"

namespace moraine {

std::string_view to_string(MountState state) {
  switch (state) {
    case MountState::kUnmounted: return "unmounted";
    case MountState::kMounted: return "mounted";
    case MountState::kFrozen: return "frozen";
    case MountState::kUnmounting: return "unmounting";
    case MountState::kFreezing: return "freezing";
    case MountState::kMounting: return "mounting";
    case MountState::kFrozenMounting: return "frozen_mounting";
  }
  return "unknown";
}

}  // namespace moraine
