// ReadStatistics: counts of reads of a tablet, for metrics and attributes.
//
// Promise    No count is lost, on any number of threads.
// Threading  Any thread.
#pragma once

#include <cstdint>

#include "base/thread_counters.h"
#include "table/chunk/read_counters.h"

namespace moraine::table {

class LookupStatistics {
 public:
  enum Figure : std::uint8_t {
    kRows,  // Keys found.
    kMissingRows,
    // Of keys in each store that was asked, before rows are merged.
    kUnmergedRows,
    kUnmergedMissingRows,
    kDataWeight,
    kUnmergedDataWeight,  // Of all versions that were read.
    kRequests,
    kWaits,    // For undecided rows.
    kRetries,  // Keys: each time that more was read for one.
    kFigures,
  };
  using Shard = ThreadCounters<kFigures>::Shard;

  void add(Figure figure, std::uint64_t by) { counters_.add(figure, by); }
  Shard here() { return counters_.here(); }
  std::uint64_t get(Figure figure) const { return counters_.sum(figure); }

 private:
  ThreadCounters<kFigures> counters_;
};

struct ReadStatistics {
  LookupStatistics lookup;
  LookupStatistics scan;
  ChunkReadStatistics chunks;
  ChunkReadStatistics hunks;
  ThreadHistogram lookup_duration;  // From the call to its result, once per request.
};

}  // namespace moraine::table
