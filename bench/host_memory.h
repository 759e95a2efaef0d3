// Memory of a virtual machine: its host backs a page when the guest first touches it, which takes
// ten times as long as clearing the page does. Rounds that happen to get such pages measure the
// host.
#pragma once

#include <cstdint>

namespace moraine::bench {

// Touches the memory that is available, but for a rest for other programs; returns the bytes.
// Pages that are freed for long may go back to the host.
std::uint64_t touch_free_memory();

}  // namespace moraine::bench
