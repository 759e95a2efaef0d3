// Reads and updates of more than the caches hold, and reads during a compaction.
#pragma once

#include "bench/tables/tables_load.h"

namespace moraine::bench {

inline constexpr std::uint64_t kWorkingSetPerCache = 4;

// On a pair with `rows` rows, several times the size of its caches.
Result<void> bench_mixed(const Setting& setting, const Pair& pair, std::uint64_t rows);

}  // namespace moraine::bench
