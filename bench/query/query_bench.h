// The benchmark of queries: Moraine against SQLite and DuckDB, with the same rows and queries.
#pragma once

#include "bench/blob_bench.h"

namespace moraine::bench {

// Filters, groups, first rows and joins on one and on two threads; the same after a tenth of the
// rows were updated; blocks that selects of key ranges read.
Result<void> bench_query_select(const Setting& setting);

}  // namespace moraine::bench
