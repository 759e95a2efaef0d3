// The version of the program, for --version, /status and /metrics.
#pragma once

namespace moraine::app {

inline constexpr const char* kVersion = "0.1";
inline constexpr const char* kVersionText = "moraine 0.1 (data folder 1, device format 2)";

}  // namespace moraine::app
