// CompactionPlan: chooses what to merge next, from statistics alone.
//
// The chunks of a partition form runs: chunks whose keys do not overlap. Runs of about equal size
// are merged when there are several (few rewrites of each byte), and overlapping chunks are merged
// as soon as enough of them is dead (few dead bytes on the device). A rewrite must be worth its
// bytes: a few adjacent runs are left as they are, and so are few dead bytes while writing
// continues. When writing has ended both limits are tighter; when nothing was written for a while
// (at rest), runs are merged into one to make reads faster.
//
// Promise    Pure. Proposed work makes progress: repeating it ends, and then reads visit at most
//            max_overlapping_store_count stores, partitions have sizes within the configured
//            bounds, and at most half of a partition is dead. Takes n log n comparisons of n
//            chunks, times the runs that they form.
// Limits     kJobChunksMax chunks per job, unless everything must be compacted. kRunsMax runs of a
//            partition: chunks that are in none of them wait for a later plan.
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
inline constexpr std::size_t kRunsMax = 256;
// Share of dead bytes of a partition above which they are merged away. While rows are being written
// up to kDeadBytesLittle are tolerated, unless they are the greater part.
inline constexpr double kDeadShareMax = 0.34;
inline constexpr double kDeadShareMaxIdle = 0.08;
inline constexpr std::uint64_t kDeadBytesLittle = std::uint64_t{96} << 20;
// The same for chunks with large dead shares and all that overlap them, if those are not all
// chunks.
inline constexpr double kDeadShareOfSomeMax = 0.3;
inline constexpr std::size_t kDeadChunksMax = 64;  // Per job, without the chunks that overlap them.
// A chunk of which at least this share is deleted is merged with its tombstones: most of it need
// not be read.
inline constexpr double kDeletedShareMin = 0.95;
// Runs of a partition before the first are merged, while rows are being written and afterwards.
inline constexpr std::size_t kQuietRuns = 8;
inline constexpr std::size_t kIdleRuns = 4;
// At rest all runs are merged if the largest is at most this many times the others together.
inline constexpr std::uint64_t kRestRatio = 4;
inline constexpr std::size_t kEdenStoresMax = 8;
// Eden is partitioned when it has this share of all bytes.
inline constexpr double kEdenShare = 0.2;
inline constexpr std::uint64_t kEdenBytesPerPartition = std::uint64_t{1} << 20;
inline constexpr double kAutoCompactionSplay = 0.3;

struct PlannedChunk {
  const ChunkRecord* record = nullptr;
  bool busy = false;            // Being compacted.
  double dead_fraction = 0;     // Share of its bytes known to be deleted, superseded or expired.
  double dead_by_eden = 0;      // The same, known only from chunks of eden.
  double deleted_fraction = 0;  // Share of its bytes deleted by chunks that hold only tombstones.
  bool all_expired = false;     // Nothing in it is visible any more, and it hides nothing older.
  bool forced = false;          // Must be compacted.
  bool hunk_garbage = false;    // Refers to hunk blobs that are mostly garbage.
  bool borrowed = false;        // Taken over in part: its blobs belong to another tablet.
};

struct PlannedPartition {
  std::string from;
  std::string to;
  std::vector<PlannedChunk> chunks;  // Newest first.
  bool whole = false;                // It cannot be split: no key to split at.
  bool keeps_bounds = false;         // Some of its chunks are not listed: no split, no merge.
};

struct PlanInput {
  std::vector<PlannedChunk> eden;  // Newest first.
  std::vector<PlannedPartition> partitions;
  std::uint64_t now_ms = 0;
  std::uint64_t forced_before_ms = 0;  // Older chunks must be compacted.
  bool idle = false;                   // Writing appears to have ended.
  bool resting = false;                // Nothing was written for a while.
  const MountConfig* mount = nullptr;
  std::uint64_t* steps = nullptr;  // If set, comparisons of chunks are counted here.
};

struct CompactionJob {
  enum class Kind : std::uint8_t {
    kDrop,         // Chunks in which everything has expired: dropped without reading.
    kPartition,    // Eden chunks into the partitions.
    kCompactEden,  // Eden chunks into one; they stay in eden.
    kCompact,      // Chunks of one partition into one run.
    kSplit,        // A partition becomes several: only pivots change, or with compaction.
    kMerge,        // Neighbouring small partitions become one: only pivots change.
    kTrim,         // Chunks below the first row of an ordered table: dropped without reading.
  };
  Kind kind = Kind::kCompact;
  std::vector<std::uint64_t> chunks;
  std::size_t partition = 0;   // The first one.
  std::size_t partitions = 1;  // Number of partitions; for a split: the resulting number.
  // For a split: where, when no chunk needs to be rewritten. Else the keys are found from the data.
  std::vector<std::string> pivots;
};

// nullopt: nothing to do.
std::optional<CompactionJob> plan_compaction(const PlanInput& input);
// When time alone may cause work (auto_compaction_period); 0: never.
std::uint64_t next_periodic_ms(const PlanInput& input);

// The range of keys of a chunk that count, both ends included.
std::string_view first_key(const ChunkRecord& chunk);
std::string_view last_key(const ChunkRecord& chunk);
bool overlap(const ChunkRecord& a, const ChunkRecord& b);
// The number of stores in which a key of the partition may have to be searched.
std::size_t depth(const std::vector<PlannedChunk>& chunks);

}  // namespace moraine::table
