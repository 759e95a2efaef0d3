// The machine that the process runs on.
#pragma once

#include <cstddef>

namespace moraine {

// Physical memory; 0: unknown.
std::size_t machine_memory_bytes();

}  // namespace moraine
