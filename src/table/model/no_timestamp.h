// The error of a commit that got no timestamp, and so has changed nothing.
//
// Promise    Pure. kUnavailable is passed on from the source of timestamps; all other errors become
//            kAborted, including an unknown outcome of the call.
// Tests      table/tablet/table_tablet_test.cpp, transaction/coordinator_test.cpp.
#pragma once

#include "base/result.h"

namespace moraine {

inline Error no_timestamp(const Error& error) {
  const bool refused = error.code == Errc::kUnavailable;
  return {refused ? error.code : Errc::kAborted,
          "no timestamp, nothing was changed: " + error.message()};
}

}  // namespace moraine
