// CompactionPlan: the rules, in the order of their urgency.
#include "table/tablet/maintenance/compaction_plan.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "base/invariant.h"
#include "table/tablet/maintenance/dead_space.h"

namespace moraine::table {
namespace {

using Kind = CompactionJob::Kind;
using Chunks = std::vector<const PlannedChunk*>;

std::uint64_t bytes(const PlannedChunk& chunk) {
  return chunk.record->statistics.data_bytes;
}
std::uint64_t bytes(const PlannedChunk* chunk) {
  return bytes(*chunk);
}
template <class List>
std::uint64_t total(const List& chunks) {
  std::uint64_t sum = 0;
  for (const auto& chunk : chunks) sum += bytes(chunk);
  return sum;
}

std::uint64_t periodic_ms(const ChunkRecord& record, const MountConfig& mount) {
  const auto period = static_cast<double>(mount.auto_compaction_period->count());
  // Ids are dense: hashing them spreads chunks that were made together.
  const double splay = static_cast<double>(record.id * 0x9e3779b97f4a7c15u >> 40) / (1u << 24);
  return record.created_ms +
         static_cast<std::uint64_t>(period * (1 + kAutoCompactionSplay * splay));
}

// Chunks with disjoint keys.
struct Run {
  std::vector<const PlannedChunk*> chunks;
  std::uint64_t bytes = 0;
  std::map<std::string_view, std::string_view> ranges;  // First keys and last ones.

  bool fits(std::string_view first, std::string_view last) const {
    const auto above = ranges.upper_bound(last);
    return above == ranges.begin() || std::prev(above)->second < first;
  }
};

// The chunks of a partition as runs: each chunk, older ones first, is in the first run that it does
// not overlap. Chunks that fit none of kRunsMax runs are in none. Adds the number of comparisons to
// `steps`: for n chunks in r runs at most n * r * log n.
std::vector<Run> runs_of(const PlannedPartition& partition, std::uint64_t& steps) {
  std::vector<const PlannedChunk*> by_id;
  for (const PlannedChunk& chunk : partition.chunks) by_id.push_back(&chunk);
  std::ranges::sort(by_id, {}, [](const PlannedChunk* chunk) { return chunk->record->id; });
  std::vector<Run> runs;
  for (const PlannedChunk* chunk : by_id) {
    const std::string_view first = first_key(*chunk->record);
    const std::string_view last = last_key(*chunk->record);
    const bool counts = first <= last;  // Otherwise it overlaps nothing.
    auto run = std::ranges::find_if(runs, [&](const Run& other) {
      steps += std::bit_width(other.ranges.size());
      return !counts || other.fits(first, last);
    });
    if (run == runs.end()) {
      if (runs.size() == kRunsMax) continue;
      run = runs.emplace(runs.end());
    }
    run->chunks.push_back(chunk);
    run->bytes += chunk->record->statistics.data_bytes;
    if (counts) run->ranges.emplace(first, last);
  }
  return runs;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input) : input_(input), mount_(*input.mount) {
    for (const PlannedPartition& partition : input.partitions) {
      partitioned_bytes_ += total(partition.chunks);
      depths_.push_back(depth(partition.chunks));
      deepest_ = std::max(deepest_, depths_.back());
      const std::size_t ends = 2 * partition.chunks.size();
      steps_ += ends * static_cast<std::size_t>(std::bit_width(ends));
    }
    runs_.resize(input.partitions.size());
    eden_bytes_ = total(input.eden);
  }

  ~Planner() {
    if (input_.steps != nullptr) *input_.steps += steps_;
  }
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  std::optional<CompactionJob> plan() const {
    if (auto job = forced()) return job;
    if (!mount_.enable_compaction_and_partitioning) return std::nullopt;
    using Rule = std::optional<CompactionJob> (Planner::*)(std::size_t) const;
    if (auto job = drop()) return job;
    if (auto job = eden()) return job;
    for (const Rule rule :
         {&Planner::deleted, &Planner::too_deep, &Planner::dead, &Planner::split, &Planner::at_rest,
          &Planner::tier, &Planner::scattered, &Planner::blobs, &Planner::merge}) {
      for (std::size_t i = 0; i < input_.partitions.size(); ++i) {
        if (busy(input_.partitions[i].chunks)) continue;
        if (auto job = (this->*rule)(i)) return job;
      }
    }
    return std::nullopt;
  }

 private:
  static bool busy(const std::vector<PlannedChunk>& chunks) {
    return std::ranges::any_of(chunks, &PlannedChunk::busy);
  }
  double dead_bytes_max(std::uint64_t all) const {
    const auto size = static_cast<double>(all);
    if (input_.idle) return kDeadShareMaxIdle * size;
    return std::max(kDeadShareMax * size, std::min(size / 2, double{kDeadBytesLittle}));
  }

  bool must_compact(const PlannedChunk& chunk) const {
    if (chunk.forced) return true;
    if (!mount_.enable_compaction_and_partitioning) return false;
    if (chunk.record->created_ms < input_.forced_before_ms) return true;
    return mount_.auto_compaction_period && periodic_ms(*chunk.record, mount_) <= input_.now_ms;
  }

  static CompactionJob job(Kind kind, std::size_t partition, const Chunks& chunks) {
    CompactionJob made;
    made.kind = kind;
    made.partition = partition;
    for (const PlannedChunk* chunk : chunks) made.chunks.push_back(chunk->record->id);
    return made;
  }
  static Chunks all(const std::vector<PlannedChunk>& chunks) {
    Chunks list;
    for (const PlannedChunk& chunk : chunks) list.push_back(&chunk);
    return list;
  }
  CompactionJob partition_eden() const {
    CompactionJob made = job(Kind::kPartition, 0, all(input_.eden));
    made.partitions = input_.partitions.size();
    return made;
  }

  std::optional<CompactionJob> forced() const {
    const auto old = [this](const PlannedChunk& chunk) { return must_compact(chunk); };
    if (!busy(input_.eden) && std::ranges::any_of(input_.eden, old)) return partition_eden();
    for (std::size_t i = 0; i < input_.partitions.size(); ++i) {
      const auto& chunks = input_.partitions[i].chunks;
      if (!busy(chunks) && std::ranges::any_of(chunks, old)) {
        return job(Kind::kCompact, i, all(chunks));
      }
    }
    return std::nullopt;
  }

  std::optional<CompactionJob> drop() const {
    Chunks gone;
    const auto collect = [&gone](const std::vector<PlannedChunk>& chunks) {
      for (const PlannedChunk& chunk : chunks) {
        if (chunk.all_expired && !chunk.busy) gone.push_back(&chunk);
      }
    };
    collect(input_.eden);
    for (const PlannedPartition& partition : input_.partitions) collect(partition.chunks);
    if (gone.empty()) return std::nullopt;
    return job(Kind::kDrop, 0, gone);
  }

  std::optional<CompactionJob> eden() const {
    if (input_.eden.empty() || busy(input_.eden)) return std::nullopt;
    const std::uint64_t wanted =
        std::max(mount_.min_partition_data_size,
                 static_cast<std::uint64_t>(kEdenShare * static_cast<double>(partitioned_bytes_)));
    // Less than this does not justify a chunk in every partition.
    const std::uint64_t little = std::max(mount_.compaction_data_size_base,
                                          kEdenBytesPerPartition * input_.partitions.size());
    const std::size_t stores_max =
        std::clamp<std::size_t>(mount_.max_overlapping_store_count / 3, 1, kEdenStoresMax);
    const bool many = input_.eden.size() > stores_max ||
                      (input_.eden.size() > 1 &&
                       input_.eden.size() + deepest_ > mount_.max_overlapping_store_count);
    if (input_.partitions.size() == 1 || eden_bytes_ >= wanted) return partition_eden();
    if (input_.idle && eden_bytes_ >= little) return partition_eden();
    if (!many) return std::nullopt;
    if (eden_bytes_ >= little) return partition_eden();
    return job(Kind::kCompactEden, 0, all(input_.eden));
  }

  // Chunks that were deleted as a whole, with the tombstones that delete them.
  std::optional<CompactionJob> deleted(std::size_t i) const {
    const auto& chunks = input_.partitions[i].chunks;
    Chunks chosen;
    for (const PlannedChunk& chunk : chunks) {
      if (chunk.deleted_fraction < kDeletedShareMin || chosen.size() >= kDeadChunksMax) continue;
      chosen.push_back(&chunk);
    }
    const std::size_t gone = chosen.size();
    for (const PlannedChunk& chunk : chunks) {
      if (!mostly_deletes(chunk.record->statistics) || chosen.size() >= kJobChunksMax) continue;
      if (chunk.deleted_fraction >= kDeletedShareMin) continue;
      const auto meets = [&](const auto* one) { return overlap(*chunk.record, *one->record); };
      if (std::any_of(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(gone), meets)) {
        chosen.push_back(&chunk);
      }
    }
    if (chosen.empty()) return std::nullopt;
    return job(Kind::kCompact, i, chosen);
  }

  // Reads would visit too many stores: merges the smallest runs, whatever their sizes.
  std::optional<CompactionJob> too_deep(std::size_t i) const {
    const std::size_t met = depths_[i] + input_.eden.size();
    if (met <= mount_.max_overlapping_store_count || depths_[i] < 2) return std::nullopt;
    const std::vector<const Run*> runs = by_bytes(i);
    const std::size_t excess = met - mount_.max_overlapping_store_count + 1;
    const std::size_t count = std::max<std::size_t>({2, excess, mount_.max_compaction_store_count});
    return merge_runs(i, runs, 0, std::min(count, runs.size()));
  }

  // Computed once.
  const std::vector<Run>& runs(std::size_t i) const {
    if (!runs_[i]) runs_[i] = runs_of(input_.partitions[i], steps_);
    return *runs_[i];
  }
  std::vector<const Run*> by_bytes(std::size_t i) const {
    std::vector<const Run*> sorted;
    for (const Run& run : runs(i)) sorted.push_back(&run);
    std::ranges::sort(sorted, {}, [](const Run* run) { return run->bytes; });
    return sorted;
  }

  std::optional<CompactionJob> merge_runs(std::size_t i, const std::vector<const Run*>& runs,
                                          std::size_t first, std::size_t count) const {
    Chunks chosen;
    for (std::size_t run = first; run < first + count; ++run) {
      if (chosen.size() >= kJobChunksMax && run > first + 1) break;
      chosen.insert(chosen.end(), runs[run]->chunks.begin(), runs[run]->chunks.end());
    }
    return job(Kind::kCompact, i, chosen);
  }

  std::optional<CompactionJob> dead(std::size_t i) const {
    const PlannedPartition& partition = input_.partitions[i];
    double known = 0;
    double by_eden = 0;
    for (const PlannedChunk& chunk : partition.chunks) {
      known += chunk.dead_fraction * static_cast<double>(bytes(chunk));
      by_eden += chunk.dead_by_eden * static_cast<double>(bytes(chunk));
    }
    const double limit = dead_bytes_max(total(partition.chunks));
    const bool whole = known > limit && partition.chunks.size() <= kJobChunksMax;
    if (whole) return job(Kind::kCompact, i, all(partition.chunks));
    if (auto made = dead_some(i, known > limit)) return made;
    if (known + by_eden <= limit || input_.eden.empty() || busy(input_.eden)) return std::nullopt;
    return partition_eden();
  }

  // Chunks with large dead shares and the chunks that overlap them, if the space gained is worth
  // the writing or `must` is set.
  std::optional<CompactionJob> dead_some(std::size_t i, bool must) const {
    const double share_max = input_.idle ? kDeadShareMaxIdle : kDeadShareOfSomeMax;
    Chunks bad;
    for (const PlannedChunk& chunk : input_.partitions[i].chunks) {
      if (chunk.dead_fraction > share_max && bad.size() < kDeadChunksMax) bad.push_back(&chunk);
    }
    Chunks chosen;
    double dead = 0;
    for (const PlannedChunk& chunk : input_.partitions[i].chunks) {
      const auto meets = [&](const auto* one) { return overlap(*chunk.record, *one->record); };
      if (std::ranges::none_of(bad, meets)) continue;
      chosen.push_back(&chunk);
      dead += chunk.dead_fraction * static_cast<double>(bytes(chunk));
    }
    const bool enough = dead > share_max * static_cast<double>(total(chosen));
    const bool some = chosen.size() < input_.partitions[i].chunks.size();
    if (chosen.empty() || !(must || (some && enough))) return std::nullopt;
    return job(Kind::kCompact, i, chosen);
  }

  std::optional<CompactionJob> split(std::size_t i) const {
    const PlannedPartition& partition = input_.partitions[i];
    const std::uint64_t size = total(partition.chunks);
    if (partition.whole || partition.keeps_bounds || size <= mount_.max_partition_data_size)
      return std::nullopt;
    if (auto made = split_at_gaps(i)) return made;
    const std::uint64_t part = std::max<std::uint64_t>(
        {mount_.min_partition_data_size, mount_.max_partition_data_size / 3, 1});
    CompactionJob made = job(Kind::kSplit, i, all(partition.chunks));
    made.partitions = std::max<std::size_t>(2, size / part);
    return made;
  }

  // A partition is cut between chunks that do not overlap without rewriting anything.
  std::optional<CompactionJob> split_at_gaps(std::size_t i) const {
    Chunks chunks = all(input_.partitions[i].chunks);
    std::ranges::sort(chunks, {},
                      [](const PlannedChunk* chunk) { return first_key(*chunk->record); });
    CompactionJob made;
    made.kind = Kind::kSplit;
    made.partition = i;
    std::uint64_t before = 0;
    std::uint64_t left = total(chunks);
    std::string_view last;
    for (const PlannedChunk* chunk : chunks) {
      const std::string_view first = first_key(*chunk->record);
      const bool gap = before > 0 && first > last;
      if (gap && left >= mount_.min_partition_data_size &&
          before >= mount_.min_partition_data_size &&
          before + bytes(*chunk) > mount_.desired_partition_data_size) {
        made.pivots.emplace_back(first);
        before = 0;
      }
      before += bytes(*chunk);
      left -= bytes(*chunk);
      last = std::max(last, last_key(*chunk->record));
    }
    if (made.pivots.empty()) return std::nullopt;
    made.partitions = made.pivots.size() + 1;
    return made;
  }

  // When nothing is written, reads have priority: one run, unless much would be rewritten to merge
  // little.
  std::optional<CompactionJob> at_rest(std::size_t i) const {
    const PlannedPartition& partition = input_.partitions[i];
    if (!input_.resting || partition.chunks.size() > kJobChunksMax) return std::nullopt;
    if (runs(i).size() < 2) return std::nullopt;
    const std::uint64_t largest = by_bytes(i).back()->bytes;
    if ((total(partition.chunks) - largest) * kRestRatio < largest) return std::nullopt;
    return job(Kind::kCompact, i, all(partition.chunks));
  }

  std::optional<CompactionJob> tier(std::size_t i) const {
    const std::size_t least = std::max<std::size_t>(2, mount_.min_compaction_store_count);
    const std::size_t usual = input_.idle ? kIdleRuns : kQuietRuns;
    const std::vector<const Run*> runs = by_bytes(i);
    if (runs.size() < (input_.resting ? least : std::max(least, usual))) return std::nullopt;
    const bool small = total(input_.partitions[i].chunks) <= mount_.min_partition_data_size;
    if (input_.resting && small) return merge_runs(i, runs, 0, runs.size());
    const std::size_t most = std::max<std::size_t>(least, mount_.max_compaction_store_count);
    for (std::size_t first = 0; first + least <= runs.size(); ++first) {
      std::uint64_t sum = runs[first]->bytes;
      std::size_t count = 1;
      while (first + count < runs.size() && count < most) {
        const std::uint64_t next = runs[first + count]->bytes;
        const double fits = mount_.compaction_data_size_ratio * static_cast<double>(sum);
        if (next > mount_.compaction_data_size_base && static_cast<double>(next) > fits) break;
        sum += next;
        ++count;
      }
      if (count >= least) return merge_runs(i, runs, first, count);
    }
    return std::nullopt;
  }

  // Small adjacent chunks in one run: they do not slow down reads, but their number must not grow.
  std::optional<CompactionJob> scattered(std::size_t i) const {
    const std::size_t least = std::max<std::size_t>(4, mount_.max_compaction_store_count);
    for (const Run& run : runs(i)) {
      Chunks chunks = run.chunks;
      std::ranges::sort(chunks, {},
                        [](const PlannedChunk* chunk) { return first_key(*chunk->record); });
      Chunks small;
      for (const PlannedChunk* chunk : chunks) {
        if (bytes(*chunk) * 4 > mount_.compaction_data_size_base) {
          if (small.size() >= least) break;
          small.clear();
        } else if (small.size() < kJobChunksMax) {
          small.push_back(chunk);
        }
      }
      if (small.size() >= least) return job(Kind::kCompact, i, small);
    }
    return std::nullopt;
  }

  // Chunks that are rewritten to free the blobs that they refer to.
  std::optional<CompactionJob> blobs(std::size_t i) const {
    for (const PlannedChunk& chunk : input_.partitions[i].chunks) {
      const bool returned = input_.idle && chunk.borrowed;
      if (chunk.hunk_garbage || returned) return job(Kind::kCompact, i, {&chunk});
    }
    return std::nullopt;
  }

  std::optional<CompactionJob> merge(std::size_t i) const {
    if (i + 1 >= input_.partitions.size() || busy(input_.partitions[i + 1].chunks)) {
      return std::nullopt;
    }
    if (input_.partitions[i].keeps_bounds || input_.partitions[i + 1].keeps_bounds) {
      return std::nullopt;
    }
    const std::uint64_t here = total(input_.partitions[i].chunks);
    const std::uint64_t next = total(input_.partitions[i + 1].chunks);
    if (std::min(here, next) >= mount_.min_partition_data_size ||
        here + next >= mount_.desired_partition_data_size) {
      return std::nullopt;
    }
    CompactionJob made = job(Kind::kMerge, i, {});
    made.partitions = 2;
    return made;
  }

  const PlanInput& input_;
  const MountConfig& mount_;
  std::uint64_t partitioned_bytes_ = 0;
  std::uint64_t eden_bytes_ = 0;
  std::size_t deepest_ = 0;
  std::vector<std::size_t> depths_;  // By partition.
  mutable std::vector<std::optional<std::vector<Run>>> runs_;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace

std::string_view first_key(const ChunkRecord& chunk) {
  return std::max<std::string_view>(chunk.statistics.first_key, chunk.from);
}

std::string_view last_key(const ChunkRecord& chunk) {
  if (chunk.to.empty()) return chunk.statistics.last_key;
  return std::min<std::string_view>(chunk.statistics.last_key, chunk.to);
}

bool overlap(const ChunkRecord& a, const ChunkRecord& b) {
  return first_key(a) <= last_key(b) && first_key(b) <= last_key(a);
}

std::size_t depth(const std::vector<PlannedChunk>& chunks) {
  // At equal keys, beginnings come before ends.
  std::vector<std::pair<std::string_view, bool>> ends;
  for (const PlannedChunk& chunk : chunks) {
    if (first_key(*chunk.record) > last_key(*chunk.record)) continue;  // None of its rows count.
    ends.emplace_back(first_key(*chunk.record), false);
    ends.emplace_back(last_key(*chunk.record), true);
  }
  std::ranges::sort(ends);
  std::size_t open = 0;
  std::size_t most = 0;
  for (const auto& [key, end] : ends) {
    open = end ? open - 1 : open + 1;
    most = std::max(most, open);
  }
  return most;
}

std::optional<CompactionJob> plan_compaction(const PlanInput& input) {
  INVARIANT(input.mount && !input.partitions.empty(), "a plan needs options and a partition");
  return Planner(input).plan();
}

std::uint64_t next_periodic_ms(const PlanInput& input) {
  if (!input.mount->auto_compaction_period) return 0;
  if (!input.mount->enable_compaction_and_partitioning) return 0;
  std::uint64_t next = 0;
  const auto look = [&](const std::vector<PlannedChunk>& chunks) {
    for (const PlannedChunk& chunk : chunks) {
      const std::uint64_t due = periodic_ms(*chunk.record, *input.mount);
      if (next == 0 || due < next) next = due;
    }
  };
  look(input.eden);
  for (const PlannedPartition& partition : input.partitions) look(partition.chunks);
  return next;
}

}  // namespace moraine::table
