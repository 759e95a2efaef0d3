// CompactionPlan: what to merge next, by figures alone.
//
// The chunks of a partition form runs: chunks whose keys do not overlap. Runs of about equal size
// are merged when there are several (few rewrites of each byte), and what overlaps is merged as
// soon as enough of it is dead (few dead bytes on the device). A rewrite must be worth its bytes:
// a few runs side by side stay as they are, and so do few dead bytes while more are on their way.
// When writing has ended both bounds are tighter; when nothing was written for a while (at rest),
// runs become one for the sake of reads.
//
// Promise    Pure. Work that is proposed makes progress: doing it again and again ends, and then
//            reads meet at most max_overlapping_store_count stores, partitions have sizes within
//            the bounds asked for, and at most half of a partition is dead.
//            Takes n log n comparisons of n chunks, times the runs that they form (chunk_runs.h).
// Limits     kJobChunksMax chunks of a job, unless everything must be compacted. Chunks that are
//            in no run wait for a later plan.
// Tests      compaction_plan_test.cpp, compaction_plan_random_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/tablet/settings.h"

namespace moraine::table {

inline constexpr std::size_t kJobChunksMax = 256;
// Dead bytes among all of a partition past which they are merged away. While rows are being
// written kDeadBytesLittle are left alone, if they are not the greater part.
inline constexpr double kDeadShareMax = 0.34;
inline constexpr double kDeadShareMaxIdle = 0.08;
inline constexpr std::uint64_t kDeadBytesLittle = std::uint64_t{96} << 20;
// Of chunks with large dead shares and all that overlaps them, if that is not all there is.
inline constexpr double kDeadShareOfSomeMax = 0.3;
inline constexpr std::size_t kDeadChunksMax = 64;  // Of one job, what overlaps them left out.
// A chunk that is deleted to this share goes with its tombstones: most of it need not be read.
inline constexpr double kDeletedShareMin = 0.95;
// Runs of a partition before the first are merged, while rows are being written and afterwards.
inline constexpr std::size_t kQuietRuns = 8;
inline constexpr std::size_t kIdleRuns = 4;
// At rest all runs become one if the largest is at most so many times the others together.
inline constexpr std::uint64_t kRestRatio = 4;
inline constexpr std::size_t kEdenStoresMax = 8;
// Eden is partitioned when it has this share of all bytes.
inline constexpr double kEdenShare = 0.2;
inline constexpr std::uint64_t kEdenBytesPerPartition = std::uint64_t{1} << 20;
inline constexpr double kAutoCompactionSplay = 0.3;

struct PlannedChunk {
  const ChunkRecord* record = nullptr;
  bool busy = false;            // Being compacted.
  double dead_fraction = 0;     // Of its bytes: deleted, superseded or expired, as far as is known.
  double dead_by_eden = 0;      // Likewise: what only chunks of eden tell.
  double deleted_fraction = 0;  // Of its bytes: what chunks of nothing but tombstones tell.
  bool all_expired = false;   // Nothing in it can be seen any more, and nothing below it needs it.
  bool forced = false;        // Must be compacted.
  bool hunk_garbage = false;  // Refers to hunk blobs that are mostly garbage.
  bool borrowed = false;      // Taken over in part: its blobs are another tablet's.
};

struct PlannedPartition {
  std::string from;
  std::string to;
  std::vector<PlannedChunk> chunks;  // Newest first.
  bool whole = false;                // There is no key to split it at.
  bool keeps_bounds = false;         // Some of its chunks are not among these: no split, no merge.
};

struct PlanInput {
  std::vector<PlannedChunk> eden;  // Newest first.
  std::vector<PlannedPartition> partitions;
  std::uint64_t now_ms = 0;
  std::uint64_t forced_before_ms = 0;  // Chunks that are older must be compacted.
  bool idle = false;                   // Writing has ended, as far as is known.
  bool resting = false;                // Nothing was written for a while.
  const MountConfig* mount = nullptr;
  std::uint64_t* steps = nullptr;  // Comparisons of chunks are counted here, if it is set.
};

struct CompactionJob {
  enum class Kind : std::uint8_t {
    kDrop,         // Chunks in which everything is expired: no reading.
    kPartition,    // Eden chunks into the partitions.
    kCompactEden,  // Eden chunks into one; they stay in eden.
    kCompact,      // Chunks of one partition into one run.
    kSplit,        // A partition becomes several: only pivots change, or with compaction.
    kMerge,        // Neighbouring small partitions become one: only pivots change.
  };
  Kind kind = Kind::kCompact;
  std::vector<std::uint64_t> chunks;
  std::size_t partition = 0;   // The first one.
  std::size_t partitions = 1;  // How many; of a split: into how many.
  // Of a split: where, when no chunk needs to be rewritten. Else the keys are found from the data.
  std::vector<std::string> pivots;
};

// nullopt: nothing to do.
std::optional<CompactionJob> plan_compaction(const PlanInput& input);
// When the passing of time alone may give work (auto_compaction_period); 0: never.
std::uint64_t next_periodic_ms(const PlanInput& input);

// The keys of a chunk that count, both ends included.
std::string_view first_key(const ChunkRecord& chunk);
std::string_view last_key(const ChunkRecord& chunk);
bool overlap(const ChunkRecord& a, const ChunkRecord& b);
// Of stores that a key of the partition may have to be looked for in.
std::size_t depth(const std::vector<PlannedChunk>& chunks);

}  // namespace moraine::table
