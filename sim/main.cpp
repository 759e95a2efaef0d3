#include <fmt/format.h>

#include "sim/campaign.h"

int main(int argc, char** argv) {
  using namespace moraine::sim;
  std::uint64_t first = argc > 1 ? std::stoull(argv[1]) : 1;
  std::uint64_t count = argc > 2 ? std::stoull(argv[2]) : 1;
  Tally all;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SeedOptions options;
    options.seed = seed;
    options.verbose = argc > 3;
    fmt::print("seed {}\n", seed);
    fflush(stdout);
    SeedReport report = run_seed(options);
    all += report.tally;
    if (report.failure) {
      ++failed;
      fmt::print("FAIL {} {}\n", to_string(report.erasure), *report.failure);
    }
  }
  fmt::print("{}\n{} failed\n", all.to_string(), failed);
}
