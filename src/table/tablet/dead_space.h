// DeadSpace: how much of each chunk is deleted, superseded or expired, as far as figures tell.
//
// A younger chunk kills a row of an older one beneath it whenever both have the key, by a write or
// by a tombstone. How often is estimated: KeysInCommon asks the older chunk's filter for some keys
// of the younger one. What must not be dropped yet (min_data_ttl) is not dead yet.
//
// Promise    Pure, but for KeysInCommon, which remembers its answers. Versions that a compaction
//            has already left in place do not count again until time allows to drop more of them.
//            Steps grow with the chunks and with the pairs of them that overlap (chunk_overlaps.h).
//            Where those are not all known no chunk counts as expired.
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
// Chunks of fewer sampled keys are taken to hit whatever lies beneath them.
inline constexpr std::size_t kSampledKeysMin = 8;

struct DeadSpaceChunk {
  const ChunkRecord* record = nullptr;
  bool eden = false;
  std::uint64_t retained_ms = 0;  // Retention was applied to it then; 0: never.
  bool left_alone = false;        // It cannot be merged: what lies beneath it stays.
};

struct DeadSpace {
  double dead = 0;          // Share of its bytes.
  double dead_by_eden = 0;  // The same, by chunks of eden alone.
  double deleted = 0;       // The part of `dead` that chunks of nothing but tombstones tell.
  bool all_expired = false;
};

struct DeadSpaceInput {
  std::vector<DeadSpaceChunk> chunks;
  RetentionConfig retention;
  bool row_ttl = false;  // There is a column $ttl: rows expire by themselves.
  std::uint64_t now_ms = 0;
  // Somebody reads as of this time: what was seen then stays.
  std::uint64_t needed_ms = ~std::uint64_t{0};
  // Versions of memory stores are not below it.
  Timestamp memory_since = kMaxTimestamp;
  // The share of the rows of `young` whose keys `old` has.
  std::function<double(const ChunkRecord& young, const ChunkRecord& old)> in_common;
};

struct DeadSpaceReport {
  std::vector<DeadSpace> chunks;  // As in the input.
  std::uint64_t next_ms = 0;      // When more will be dead by the passing of time; 0: never.
  std::uint64_t steps = 0;        // That it took: comparisons of chunks.
};

// A chunk of tombstones; a row of it may yet be a write without values.
bool mostly_deletes(const ChunkStatistics& figures);

// The work in parts, since in_common() takes long. The input outlives it.
class DeadSpaceFinder {
 public:
  explicit DeadSpaceFinder(const DeadSpaceInput& input);
  ~DeadSpaceFinder();
  // Asks in_common() so many times at most. True: that was all.
  bool run(std::size_t questions);
  // Requires: run() gave true.
  DeadSpaceReport finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

DeadSpaceReport find_dead_space(const DeadSpaceInput& input);

// Answers that need no reading from the device.
class KeysInCommon {
 public:
  double share(const ChunkReader& young, const ChunkReader& old);
  // Forgets chunks that are not among these.
  void keep_only(const std::map<std::uint64_t, std::shared_ptr<ChunkReader>>& chunks);

 private:
  std::map<std::uint64_t, std::vector<std::string>> samples_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> shares_;
};

}  // namespace moraine::table
