// DeadSpace: estimates from statistics how much of each chunk is deleted, superseded or expired.
//
// A younger chunk kills a row of an older one beneath it whenever both have the key, by a write or
// by a tombstone. How often is estimated: KeysInCommon tests some keys of the younger chunk against
// the older one's filter. What must not be dropped yet (min_data_ttl) does not count as dead.
//
// Promise    Pure, except that KeysInCommon caches its results. Versions that a compaction has kept
//            do not count again until more of them may be dropped. Steps grow with the chunks and
//            with the pairs of them that overlap (chunk_overlaps.h). Where not all pairs are known
//            no chunk counts as expired.
// Threading  One thread at a time.
// Tests      dead_space_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "table/chunk/chunk_reader.h"
#include "table/model/retention.h"

namespace moraine::table {

inline constexpr std::size_t kSampledKeys = 64;
// Chunks with fewer sampled keys are assumed to hit whatever lies beneath them.
inline constexpr std::size_t kSampledKeysMin = 8;

struct DeadSpaceChunk {
  const ChunkRecord* record = nullptr;
  bool eden = false;
  std::uint64_t retained_ms = 0;  // When retention was last applied to it; 0: never.
  bool excluded = false;          // It cannot be merged: chunks beneath it are kept.
};

struct DeadSpace {
  double dead = 0;          // Share of its bytes.
  double dead_by_eden = 0;  // The same, by chunks of eden alone.
  double deleted = 0;       // The part of `dead` caused by chunks that hold only tombstones.
  bool all_expired = false;
};

struct DeadSpaceInput {
  std::vector<DeadSpaceChunk> chunks;
  RetentionConfig retention;
  bool row_ttl = false;  // There is a column $ttl: rows expire individually.
  std::uint64_t now_ms = 0;
  // The oldest time that readers need: what was visible then is kept.
  std::uint64_t needed_ms = ~std::uint64_t{0};
  // A lower bound for timestamps in memory stores.
  Timestamp memory_since = kMaxTimestamp;
  // The share of the rows of `young` whose keys `old` has.
  std::function<double(const ChunkRecord& young, const ChunkRecord& old)> in_common;
};

struct DeadSpaceReport {
  std::vector<DeadSpace> chunks;  // As in the input.
  std::uint64_t next_ms = 0;      // When time alone will make more dead; 0: never.
  std::uint64_t steps = 0;        // Comparisons of chunks that it took.
};

// A chunk of tombstones; some of its rows may still be writes without values.
bool mostly_deletes(const ChunkStatistics& figures);

// Does the work in parts, since in_common() takes long. The input must outlive it.
class DeadSpaceFinder {
 public:
  explicit DeadSpaceFinder(const DeadSpaceInput& input);
  ~DeadSpaceFinder();
  // Calls in_common() at most `questions` times. True: finished.
  bool run(std::size_t questions);
  // Requires: run() returned true.
  DeadSpaceReport finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

DeadSpaceReport find_dead_space(const DeadSpaceInput& input);

// Estimates without reading from the device.
class KeysInCommon {
 public:
  double share(const ChunkReader& young, const ChunkReader& old);
  // Drops results of chunks that are not among these.
  void keep_only(const std::map<std::uint64_t, std::shared_ptr<ChunkReader>>& chunks);

 private:
  std::map<std::uint64_t, std::vector<std::string>> samples_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> shares_;
};

}  // namespace moraine::table
