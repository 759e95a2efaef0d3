// Lookups and inserts over HTTP, against Redis and PostgreSQL: README.md.
#pragma once

#include "bench/blob_bench.h"

namespace moraine::bench {

Result<void> bench_http_lookups(const Setting& setting);
Result<void> bench_http_inserts(const Setting& setting);

}  // namespace moraine::bench
