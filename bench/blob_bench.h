// The benchmarks of blob storage. Each measures both sides in turns (ours, peer, ours, peer, ...)
// on one file system and adds its lines to the report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/report.h"
#include "bench/work_folder.h"

namespace moraine::bench {

struct Setting {
  const WorkFolder& folder;
  bool quick = false;
  Report& report;
};

Result<void> bench_put_large(const Setting& setting);
Result<void> bench_put_small(const Setting& setting);
Result<void> bench_get_small(const Setting& setting);
Result<void> bench_block42(const Setting& setting);
Result<void> bench_encode(const Setting& setting);
Result<void> bench_degraded(const Setting& setting);
Result<void> bench_index(const Setting& setting);

// The other half of bench_index, in a separate process that is killed: fills a device with `count`
// blobs, prints to standard output how much memory they take, and waits.
Result<void> fill_and_wait(const std::string& folder, std::uint64_t count);

}  // namespace moraine::bench
