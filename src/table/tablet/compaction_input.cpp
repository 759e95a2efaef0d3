// What the plan is told of the chunks.

#include <algorithm>

#include "table/tablet/maintenance_impl.h"

namespace moraine::table {

// Compactions that were ordered since the last call: all chunks that are here must be made anew. At
// the start of the tablet: those that are as old as the order.
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
                            left_alone_.contains(id)});
  };
  for (const auto& reader : view.eden) add(reader, true);
  for (const PartitionView& partition : view.partitions) {
    for (const auto& reader : partition.chunks) add(reader, false);
  }
  for (const auto& store : view.memory) {
    if (store->max_timestamp() == 0) continue;
    input.memory_since = std::min(input.memory_since, store->min_timestamp());
  }
  input.in_common = [this](const ChunkRecord& young, const ChunkRecord& old) {
    return in_common_.share(*stores_.chunk(young.id), *stores_.chunk(old.id));
  };
  return input;
}

PlannedChunk Maintenance::Impl::planned(const std::shared_ptr<ChunkReader>& reader,
                                        const DeadSpace& space) const {
  PlannedChunk chunk;
  chunk.record = &reader->record();
  chunk.dead_fraction = space.dead;
  chunk.dead_by_eden = space.dead_by_eden;
  chunk.deleted_fraction = space.deleted;
  // What a chunk that must stay hides or shows is not known.
  chunk.all_expired = space.all_expired && stores_.damaged().empty() && left_alone_.empty();
  chunk.borrowed = !chunk.record->from.empty() || !chunk.record->to.empty();
  chunk.forced = forced_.contains(chunk.record->id);
  return chunk;
}

// What the job will write, about.
std::uint64_t Maintenance::Impl::output_bytes(const CompactionJob& job,
                                              const PlanInput& input) const {
  double bytes = 0;
  const auto add = [&](const std::vector<PlannedChunk>& chunks) {
    for (const PlannedChunk& chunk : chunks) {
      if (std::ranges::find(job.chunks, chunk.record->id) == job.chunks.end()) continue;
      bytes += (1 - chunk.dead_fraction) * static_cast<double>(chunk.record->statistics.data_bytes);
    }
  };
  if (job.kind == CompactionJob::Kind::kDrop) return 0;
  add(input.eden);
  for (const PlannedPartition& partition : input.partitions) add(partition.chunks);
  return static_cast<std::uint64_t>(bytes);
}

Maintenance::Impl::Plan Maintenance::Impl::plan() {
  const auto view = stores_.views().hold();
  in_common_.keep_only(stores_.chunks());
  const DeadSpaceReport dead = find_dead_space(dead_space_input(*view));
  const std::set<BlobId> garbage = garbage_hunks();

  PlanInput input;
  input.now_ms = now_ms();
  input.mount = &settings_.mount;
  input.resting = now() - last_write_ >= kIdleAfter;
  input.idle = settling_ > 0 || input.resting;
  if (revision_ >= kFirstTimeRevision) input.forced_before_ms = revision_;
  std::size_t next = 0;
  for (const auto& reader : view->eden) {
    PlannedChunk chunk = planned(reader, dead.chunks[next++]);
    if (!left_alone_.contains(reader->record().id)) input.eden.push_back(std::move(chunk));
  }
  for (std::size_t i = 0; i < view->partitions.size(); ++i) {
    PlannedPartition& partition = input.partitions.emplace_back();
    partition.from = view->partitions[i].from;
    if (i + 1 < view->partitions.size()) partition.to = view->partitions[i + 1].from;
    std::uint64_t bytes = 0;
    for (const auto& reader : view->partitions[i].chunks) {
      PlannedChunk chunk = planned(reader, dead.chunks[next++]);
      if (left_alone_.contains(reader->record().id)) continue;
      chunk.hunk_garbage = std::ranges::any_of(
          chunk.record->hunks, [&](const HunkUse& use) { return garbage.contains(use.blob); });
      bytes += chunk.record->statistics.data_bytes;
      partition.chunks.push_back(std::move(chunk));
    }
    const auto tried = unsplittable_.find(partition.from);
    partition.whole = tried != unsplittable_.end() && bytes < 2 * tried->second;
  }
  Plan plan;
  plan.job = plan_compaction(input);
  // It is planned again when there is room.
  if (plan.job && log_.space_is_short() && output_bytes(*plan.job, input) > kShortSpaceJobBytes) {
    plan.job.reset();
  }
  plan.next_ms = dead.next_ms;
  const std::uint64_t periodic = next_periodic_ms(input);
  if (periodic != 0 && (plan.next_ms == 0 || periodic < plan.next_ms)) plan.next_ms = periodic;
  return plan;
}

}  // namespace moraine::table
