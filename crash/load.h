// Load: writers that put, collect and block through a proxy, and record the replies in the truth.
//
// Promise    Whatever did not get OK stays in doubt. A put of a fenced generation that gets OK is a
//            violation.
// Threading  One executor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blob/proxy/proxy.h"
#include "crash/truth.h"
#include "io/executor.h"
#include "io/sync.h"

namespace moraine::crash {

struct LoadOptions {
  std::uint32_t writers = 16;
  std::uint32_t tablets = 8;
  std::uint64_t live_bytes_max = std::uint64_t{48} << 20;  // Of a tablet, before it collects.
};

struct LoadCounts {
  std::uint64_t acknowledged = 0;
  std::uint64_t in_doubt = 0;
  std::uint64_t refused = 0;  // By a fence, as expected.
  std::uint64_t collects = 0;
  std::uint64_t blocks = 0;
};

class Load {
 public:
  Load(Executor& executor, blob::Proxy& proxy, Random& random, LoadOptions options);

  // Writers run from now on, until stop(); joined() waits for the last reply.
  void start(std::uint32_t round);
  void stop() { stopping_ = true; }
  Task<void> joined();

  std::vector<TabletTruth>& tablets() { return tablets_; }
  const LoadCounts& counts() const { return counts_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  Task<void> write();
  Task<bool> put(TabletTruth& tablet);
  Task<void> collect(TabletTruth& tablet);
  Task<void> block(TabletTruth& tablet);
  Task<void> test_fence(TabletTruth& tablet);
  Instant deadline() const;

  Executor& executor_;
  blob::Proxy& proxy_;
  Random& random_;
  const LoadOptions options_;
  std::vector<TabletTruth> tablets_;
  LoadCounts counts_;
  std::vector<std::string> violations_;
  std::uint32_t round_ = 0;
  bool stopping_ = false;
  TaskScope scope_;
};

}  // namespace moraine::crash
