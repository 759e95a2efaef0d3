// Input of the compaction plan: what is known of the chunks.

#include <algorithm>
#include <unordered_map>

#include "table/tablet/maintenance_impl.h"

namespace moraine::table {
namespace {

constexpr std::size_t kQuestionsPerTurn = 16;  // Estimates of common keys of two chunks.

}  // namespace

// Applies compaction orders since the last call: all present chunks must be rewritten. At the start
// of the tablet: those that are at least as old as the order.
void Maintenance::Impl::note_revision(bool starting) {
  const MountConfig& mount = settings_.mount;
  if (!mount.enable_compaction_and_partitioning) return;
  const bool ordered =
      mount.forced_compaction_revision > revision_ || mount.forced_compaction_ms > forced_ms_;
  for (const auto& [id, reader] : stores_.chunks()) {
    if (!ordered) break;
    const bool older = reader->record().created_ms <= mount.forced_compaction_ms;
    if (older || !starting) forced_.insert(id);
  }
  revision_ = mount.forced_compaction_revision;
  forced_ms_ = mount.forced_compaction_ms;
}

std::set<BlobId> Maintenance::Impl::garbage_hunks() const {
  std::map<BlobId, std::uint64_t> used;
  for (const auto& [id, reader] : stores_.chunks()) {
    for (const HunkUse& use : reader->record().hunks) used[use.blob] += use.bytes;
  }
  std::set<BlobId> garbage;
  const double least = 1 - settings_.mount.max_hunk_compaction_garbage_ratio;
  for (const auto& [blob, bytes] : used) {
    if (static_cast<double>(bytes) < least * blob.size()) garbage.insert(blob);
  }
  return garbage;
}

DeadSpaceInput Maintenance::Impl::dead_space_input(const TabletView& view) {
  DeadSpaceInput input;
  input.retention = settings_.mount.retention;
  input.row_ttl = settings_.schema->find("$ttl").has_value();
  input.now_ms = now_ms();
  input.needed_ms = needed_ms();
  const auto add = [&](const std::shared_ptr<ChunkReader>& reader, bool eden) {
    const std::uint64_t id = reader->record().id;
    const auto retained = retained_ms_.find(id);
    input.chunks.push_back({&reader->record(), eden,
                            retained == retained_ms_.end() ? 0 : retained->second,
                            excluded_.contains(id)});
  };
  for (const auto& reader : view.eden) add(reader, true);
  for (const PartitionView& partition : view.partitions) {
    for (const auto& reader : partition.chunks) add(reader, false);
  }
  for (const auto& store : view.memory) {
    if (store->max_timestamp() == 0) continue;
    input.memory_since = std::min(input.memory_since, store->min_timestamp());
  }
  return input;
}

PlannedChunk Maintenance::Impl::planned(const std::shared_ptr<ChunkReader>& reader,
                                        const DeadSpace& space) const {
  PlannedChunk chunk;
  chunk.record = &reader->record();
  chunk.dead_fraction = space.dead;
  chunk.dead_by_eden = space.dead_by_eden;
  chunk.deleted_fraction = space.deleted;
  // Which versions a damaged or excluded chunk hides or shows is unknown.
  chunk.all_expired = space.all_expired && stores_.damaged().empty() && excluded_.empty();
  chunk.borrowed = !chunk.record->from.empty() || !chunk.record->to.empty();
  chunk.forced = forced_.contains(chunk.record->id);
  return chunk;
}

// Approximate bytes that the job will write.
std::uint64_t Maintenance::Impl::output_bytes(const CompactionJob& job, const PlanInput& input) {
  if (job.kind == CompactionJob::Kind::kDrop) return 0;
  const std::set<std::uint64_t> ids(job.chunks.begin(), job.chunks.end());
  double bytes = 0;
  const auto add = [&](const std::vector<PlannedChunk>& chunks) {
    for (const PlannedChunk& chunk : chunks) {
      if (!ids.contains(chunk.record->id)) continue;
      bytes += (1 - chunk.dead_fraction) * static_cast<double>(chunk.record->statistics.data_bytes);
    }
  };
  add(input.eden);
  for (const PlannedPartition& partition : input.partitions) add(partition.chunks);
  return static_cast<std::uint64_t>(bytes);
}

// On the background executor, and in turns: look-ups in filters of many chunks take long.
Task<DeadSpaceReport> Maintenance::Impl::find_dead(std::shared_ptr<const TabletView> view) {
  DeadSpaceInput input = dead_space_input(*view);
  std::unordered_map<std::uint64_t, const ChunkReader*> readers;
  for (const auto& reader : view->eden) readers[reader->record().id] = reader.get();
  for (const PartitionView& partition : view->partitions) {
    for (const auto& reader : partition.chunks) readers[reader->record().id] = reader.get();
  }
  input.in_common = [this, &readers](const ChunkRecord& young, const ChunkRecord& old) {
    return in_common_.share(*readers.at(young.id), *readers.at(old.id));
  };
  in_common_.keep_only(stores_.chunks());
  co_await hop(resources_.background);
  DeadSpaceFinder finder(input);
  while (!stopping_ && !finder.run(kQuestionsPerTurn)) co_await yield(resources_.background);
  DeadSpaceReport report = finder.finish();
  co_await hop(resources_.world.executor);
  co_return report;
}

PlanInput Maintenance::Impl::plan_input(const TabletView& view, const DeadSpaceReport& dead) const {
  const std::set<BlobId> garbage = garbage_hunks();
  const std::set<std::uint64_t> waiting = failed_jobs_.waiting(now());
  const auto is_excluded = [&](const ChunkReader& reader) {
    const std::uint64_t id = reader.record().id;
    return excluded_.contains(id) || waiting.contains(id);
  };
  PlanInput input;
  input.now_ms = now_ms();
  if (revision_ >= kFirstTimeRevision) input.forced_before_ms = revision_;
  std::size_t next = 0;
  for (const auto& reader : view.eden) {
    PlannedChunk chunk = planned(reader, dead.chunks[next++]);
    if (!is_excluded(*reader)) input.eden.push_back(std::move(chunk));
  }
  for (std::size_t i = 0; i < view.partitions.size(); ++i) {
    PlannedPartition& partition = input.partitions.emplace_back();
    partition.from = view.partitions[i].from;
    if (i + 1 < view.partitions.size()) partition.to = view.partitions[i + 1].from;
    std::uint64_t bytes = 0;
    for (const auto& reader : view.partitions[i].chunks) {
      PlannedChunk chunk = planned(reader, dead.chunks[next++]);
      if (waiting.contains(reader->record().id)) partition.keeps_bounds = true;
      if (is_excluded(*reader)) continue;
      chunk.hunk_garbage = std::ranges::any_of(
          chunk.record->hunks, [&](const HunkUse& use) { return garbage.contains(use.blob); });
      bytes += chunk.record->statistics.data_bytes;
      partition.chunks.push_back(std::move(chunk));
    }
    const auto tried = unsplittable_.find(partition.from);
    partition.whole = tried != unsplittable_.end() && bytes < 2 * tried->second;
  }
  return input;
}

// Chunks that are added meanwhile are planned for next time; none are removed, since only the
// outcome of a plan removes chunks.
Task<Maintenance::Impl::Plan> Maintenance::Impl::plan() {
  const auto view = stores_.views().hold();
  const bool resting = now() - last_write_ >= kIdleAfter;
  const bool idle = settling_ > 0 || resting;
  const DeadSpaceReport dead = co_await find_dead(view);
  const MountConfig mount = settings_.mount;  // A copy, since it may change during the plan.
  PlanInput input = plan_input(*view, dead);
  input.mount = &mount;
  input.resting = resting;
  input.idle = idle;
  Plan plan;
  co_await hop(resources_.background);
  plan.job = plan_compaction(input);
  const std::uint64_t bytes = plan.job ? output_bytes(*plan.job, input) : 0;
  const std::uint64_t periodic = next_periodic_ms(input);
  co_await hop(resources_.world.executor);
  // Planned again when there is more space.
  if (plan.job && log_.space_is_short() && bytes > kShortSpaceJobBytes) plan.job.reset();
  plan.next_ms = dead.next_ms;
  if (periodic != 0 && (plan.next_ms == 0 || periodic < plan.next_ms)) plan.next_ms = periodic;
  co_return plan;
}

}  // namespace moraine::table
