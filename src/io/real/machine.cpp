#include "io/real/machine.h"

#include <unistd.h>

#include <algorithm>

namespace moraine {

std::size_t machine_memory_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const auto page = static_cast<std::size_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
  return pages * page;
}

}  // namespace moraine
