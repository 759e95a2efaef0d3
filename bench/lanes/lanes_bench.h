// The benchmark of lanes: the same load on one lane and on two, in one run. Each part creates its
// own data and adds its lines to the report.
#pragma once

#include "bench/blob_bench.h"

namespace moraine::bench {

// Durable produce of gzip and zstd batches, and consume of cached ones: `moraine serve --lanes`.
Result<void> bench_lanes_produce(const Setting& setting);
Result<void> bench_lanes_consume(const Setting& setting);
// Durable commits, and lookups by coroutines: OpenOptions::lanes.
Result<void> bench_lanes_commit(const Setting& setting);
Result<void> bench_lanes_lookup(const Setting& setting);

}  // namespace moraine::bench
