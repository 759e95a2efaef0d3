// ChunkReadStatistics: bytes of chunks, or of hunks, that reads of a tablet needed, by kind of
// read.
//
// Promise    No count is lost, on any number of threads.
// Threading  Any thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/thread_counters.h"

namespace moraine::table {

class ChunkReadCounters {
 public:
  enum Figure : std::uint8_t {
    kDiskBytes,         // Read from devices.
    kTransmittedBytes,  // Of those, sent by the blob storage group rather than read directly.
    kCacheBytes,        // Of blocks found in memory.
    kFilterKeys,        // Keys tested against a filter.
    kFilteredKeys,      // Keys that the filter excluded.
    kFilterFalsePositives,
    kFigures,
  };
  using Shard = ThreadCounters<kFigures>::Shard;

  void add(Figure figure, std::uint64_t by) { counters_.add(figure, by); }
  Shard here() { return counters_.here(); }
  std::uint64_t get(Figure figure) const { return counters_.sum(figure); }

 private:
  ThreadCounters<kFigures> counters_;
};

enum class ReadKind : std::uint8_t { kLookup, kSelect, kBackground };

class ChunkReadStatistics {
 public:
  ChunkReadCounters& of(ReadKind kind) { return kinds_[static_cast<std::size_t>(kind)]; }
  const ChunkReadCounters& of(ReadKind kind) const {
    return kinds_[static_cast<std::size_t>(kind)];
  }
  // Sum over all kinds.
  std::uint64_t get(ChunkReadCounters::Figure figure) const {
    std::uint64_t sum = 0;
    for (const ChunkReadCounters& kind : kinds_) sum += kind.get(figure);
    return sum;
  }

 private:
  std::array<ChunkReadCounters, 3> kinds_;
};

}  // namespace moraine::table
