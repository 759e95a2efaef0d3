// Where compressed record batches are unpacked: short ones by the lane, long ones in the
// background.
//
// Promise    A lane that unpacks at most the sizes below before other callbacks run is blocked for
//            well below a millisecond.
// Threading  Any.
#pragma once

#include <cstddef>

#include "io/background_work.h"

namespace moraine::client {

// What a lane unpacks at once: batches up to this size that have up to kPlainInlineMax bytes of
// records.
inline constexpr std::size_t kUnpackedInlineMax = std::size_t{64} << 10;
inline constexpr std::size_t kPlainInlineMax = std::size_t{256} << 10;
// While this many wait in the background, lanes unpack long batches themselves: all processors are
// busy then.
inline constexpr std::size_t kUnpackingWaitingMax = 2;

// Where a long batch is unpacked now. `background` null: on the lane.
inline Executor& unpacking_executor(BackgroundWork* background, Executor& lane) {
  const bool busy =
      background == nullptr || background->waiting(Urgency::kRequest) >= kUnpackingWaitingMax;
  return busy ? lane : background->of(Urgency::kRequest);
}

}  // namespace moraine::client
