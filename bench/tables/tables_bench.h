// The benchmark of sorted tables: Moraine against RocksDB in one process, with the same rows, codec
// and bytes of cache. Each part creates its own data and adds its lines to the report.
#pragma once

#include "bench/blob_bench.h"

namespace moraine::bench {

// Point lookups and a full scan, all data in memory.
Result<void> bench_tables_lookup(const Setting& setting);
// One column of ten.
Result<void> bench_tables_columns(const Setting& setting);
// Durable commits.
Result<void> bench_tables_commit(const Setting& setting);
// Bytes on the device, bytes written; reads and updates of more data than the cache holds; reads
// during a compaction.
Result<void> bench_tables_space(const Setting& setting);
// Appends at one end, deletes at the other.
Result<void> bench_tables_queue(const Setting& setting);
// The same lookups on an increasing number of rows; memory at rest, time to open.
Result<void> bench_tables_growth(const Setting& setting);

}  // namespace moraine::bench
