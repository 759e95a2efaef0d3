// Rounds of point lookups, the same for both sides.
#pragma once

#include "bench/tables/tables_load.h"

namespace moraine::bench {

inline constexpr std::size_t kBatchMax = 64;

struct LookupPlan {
  RowRange among;  // Rows are drawn from these.
  std::uint32_t threads = 1;
  std::uint64_t count = 0;  // Of each thread.
  std::size_t batch = 1;    // Keys of one call; at most kBatchMax.
  bool missing = false;     // None of them exists.
  bool row_cache = false;   // Ours only.
  std::uint64_t seed = 1;
};

Result<Round> lookup_ours(OurTable& table, const LookupPlan& plan);
Result<Round> lookup_rocks(RocksTable& table, const LookupPlan& plan);

// Reads all rows once, so that the caches hold what fits.
Result<void> warm(const Pair& pair, std::uint64_t rows);

// One full scan of the key-value table, every key and value touched.
Result<Round> scan_ours(OurTable& table);
Result<Round> scan_rocks(RocksTable& table);

}  // namespace moraine::bench
