// Compaction: gathers what is known of the chunks for the plan, and executes the job that it
// chooses.

#include <algorithm>
#include <unordered_map>

#include "table/tablet/maintenance/deleted_units.h"
#include "table/tablet/maintenance/maintenance_impl.h"
#include "table/tablet/read/merge_cursor.h"
#include "table/tablet/state/log_record.h"

namespace moraine::table {
namespace {

using Kind = CompactionJob::Kind;

constexpr std::size_t kQuestionsPerTurn = 16;  // Estimates of common keys of two chunks.
constexpr std::string_view kAboveAllKeys = "\xff";

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
  input.retention = settings_.mount.retention();
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
  if (auto trimmed = trimmed_chunks(*view)) co_return Plan{std::move(trimmed), 0};
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

std::optional<CompactionJob> Maintenance::Impl::trimmed_chunks(const TabletView& view) const {
  if (!view.trimmed) return std::nullopt;
  CompactionJob job;
  job.kind = Kind::kTrim;
  for (const auto& [id, reader] : stores_.chunks()) {
    if (last_key(reader->record()) < view.bounds.from) job.chunks.push_back(id);
  }
  if (job.chunks.empty()) return std::nullopt;
  return job;
}

// The rows that are not trimmed: the others need not be written again.
KeyBounds Maintenance::Impl::kept_rows() const {
  const auto view = stores_.views().hold();
  return {.from = view->trimmed ? view->bounds.from : std::string(), .to = {}};
}

Task<Result<void>> Maintenance::Impl::compact(CompactionJob job) {
  refused_key_.clear();
  switch (job.kind) {
    case Kind::kDrop: {
      StoreLog::Replace change;
      const std::size_t count = job.chunks.size();
      change.removed = std::move(job.chunks);
      Timestamp newest = 0;
      for (const std::uint64_t id : change.removed) {
        newest = std::max(newest, stores_.chunk(id)->record().statistics.max_timestamp);
      }
      change.retained_timestamp = horizon(newest);
      change.loses_rows = settings_.mount.min_data_versions == 0;
      CO_TRY_VOID(co_await install(std::move(change), {}));
      counted_.chunks_dropped_unread += count;
      co_return Result<void>{};
    }
    case Kind::kTrim: {
      StoreLog::Replace change;
      change.removed = std::move(job.chunks);
      change.loses_rows = true;
      const std::size_t count = change.removed.size();
      CO_TRY_VOID(co_await install(std::move(change), {}));
      counted_.chunks_dropped_unread += count;
      co_return Result<void>{};
    }
    case Kind::kMerge: co_return co_await change_pivots(std::move(job));
    case Kind::kSplit:
      if (!job.pivots.empty()) co_return co_await change_pivots(std::move(job));
      break;
    case Kind::kPartition:
    case Kind::kCompactEden:
    case Kind::kCompact: break;
  }
  co_return co_await rewrite(std::move(job));
}

std::vector<std::string> Maintenance::Impl::with_pivots(std::vector<std::string> more) const {
  std::vector<std::string> pivots = stores_.pivots();
  pivots.insert(pivots.end(), more.begin(), more.end());
  std::ranges::sort(pivots);
  const auto repeated = std::ranges::unique(pivots);
  pivots.erase(repeated.begin(), repeated.end());
  return pivots;
}

// Pivots must fit one record of the log, and a page of each snapshot.
bool Maintenance::Impl::pivots_fit(const std::vector<std::string>& pivots) const {
  std::size_t bytes = 0;
  for (const std::string& pivot : pivots) bytes += pivot.size();
  return pivots.size() <= kPivotsMax && bytes <= settings_.limits.pivot_bytes_max;
}

std::uint64_t Maintenance::Impl::partition_bytes(std::size_t partition) const {
  const auto view = stores_.views().hold();
  std::uint64_t bytes = 0;
  for (const auto& reader : view->partitions[partition].chunks) {
    bytes += reader->record().statistics.data_bytes;
  }
  return bytes;
}

Task<Result<void>> Maintenance::Impl::change_pivots(CompactionJob job) {
  StoreLog::Replace change;
  if (job.kind == Kind::kSplit) {
    change.pivots = with_pivots(std::move(job.pivots));
    if (!pivots_fit(*change.pivots)) {
      unsplittable_[stores_.pivots()[job.partition]] = partition_bytes(job.partition);
      co_return Result<void>{};
    }
  } else {
    change.pivots = stores_.pivots();
    const auto first = change.pivots->begin() + static_cast<std::ptrdiff_t>(job.partition) + 1;
    change.pivots->erase(first, first + static_cast<std::ptrdiff_t>(job.partitions) - 1);
  }
  co_return co_await install(std::move(change), {});
}

// Keys that split the chosen chunks into parts of about equal size.
std::vector<std::string> Maintenance::Impl::split_pivots(const CompactionJob& job,
                                                         const Readers& chosen) const {
  constexpr std::size_t kKeysPerPart = 16;
  std::uint64_t total = 1;
  for (const auto& reader : chosen) total += reader->record().statistics.data_bytes;
  std::vector<std::string> keys;
  for (const auto& reader : chosen) {
    const std::uint64_t bytes = reader->record().statistics.data_bytes;
    const std::size_t parts = bytes * kKeysPerPart * job.partitions / total + 1;
    if (parts < 2) continue;
    for (std::string& key : reader->split_keys(parts)) keys.push_back(std::move(key));
  }
  std::ranges::sort(keys);
  std::vector<std::string> pivots;
  for (std::size_t i = 1; i < job.partitions && !keys.empty(); ++i) {
    std::string& key = keys[std::min(keys.size() - 1, i * keys.size() / job.partitions)];
    const std::string& after = pivots.empty() ? stores_.pivots()[job.partition] : pivots.back();
    if (key > after) pivots.push_back(key);
  }
  return pivots;
}

// Reads at this timestamp and above are not affected. Never below what was written: timestamps keep
// increasing when the clock jumps back.
Timestamp Maintenance::Impl::horizon(Timestamp newest) const {
  const Timestamp now = std::max(timestamp_of_seconds(now_ms() / 1'000), newest);
  return std::min(retained_timestamp(settings_.mount.retention(), now),
                  std::max(log_.needed_since(), kMinTimestamp));
}

// The last whole second that no reader needs; far ahead when there are no reads of the past.
std::uint64_t Maintenance::Impl::needed_ms() const {
  const std::uint64_t seconds = unix_seconds(log_.needed_since());
  return (seconds == 0 ? 0 : seconds - 1) * 1'000;
}

// Versions that had reached the TTL by this time are not in chunks compacted now.
std::uint64_t Maintenance::Impl::retention_applied_ms() const {
  const auto ttl = static_cast<std::uint64_t>(settings_.mount.min_data_ttl.count());
  const std::uint64_t needed = needed_ms();
  return std::max<std::uint64_t>(1,
                                 needed < now_ms() ? std::min(now_ms(), needed + ttl) : now_ms());
}

RetentionScope Maintenance::Impl::scope(Timestamp newest) const {
  RetentionScope scope;
  scope.now = std::max(timestamp_of_seconds(now_ms() / 1'000), newest);
  if (!has_bug(SeededBug::kFoldPastSnapshot)) scope.horizon = horizon(newest);
  return scope;
}

// Stores that are not merged and have, or may get, versions as old as those that are.
std::vector<OutsideStore> Maintenance::Impl::outside(const Readers& chosen,
                                                     const MemoryStore* flushed, Timestamp newest) {
  std::vector<OutsideStore> stores;
  std::set<std::uint64_t> inside;
  std::string_view first;
  std::string_view last = kAboveAllKeys;
  for (const auto& reader : chosen) {
    const ChunkRecord& record = reader->record();
    first = inside.empty() ? first_key(record) : std::min(first, first_key(record));
    last = inside.empty() ? last_key(record) : std::max(last, last_key(record));
    inside.insert(record.id);
  }
  for (const auto& [id, reader] : stores_.chunks()) {
    const ChunkRecord& record = reader->record();
    if (record.statistics.min_timestamp > newest || inside.contains(id)) continue;
    // Overlaps no row of the merge.
    if (last_key(record) < first || first_key(record) > last) continue;
    stores.push_back({std::string(first_key(record)), std::string(last_key(record)),
                      record.statistics.min_timestamp});
  }
  for (const DamagedChunk& chunk : stores_.damaged()) {
    if (chunk.min_timestamp > newest) continue;
    stores.push_back({chunk.from, chunk.to, chunk.min_timestamp});
  }
  for (const OpenMemoryStore& open : stores_.memory_stores()) {
    if (open.store.get() == flushed) continue;
    const bool empty = open.store->max_timestamp() == 0;
    Timestamp least = empty ? kMaxTimestamp : open.store->min_timestamp();
    // A prepared transaction commits above its start, possibly below what others have committed
    // since.
    if (open.prepared > 0) least = std::min(least, log_.needed_since());
    if (least <= newest) stores.push_back({{}, std::string(kAboveAllKeys), least});
  }
  return stores;
}

BuildSpec Maintenance::Impl::rewrite_spec(const CompactionJob& job, const Readers& chosen) {
  BuildSpec spec = new_build();
  spec.retention = settings_.mount.retention();
  Timestamp newest = 0;
  const std::set<BlobId> garbage = garbage_hunks();
  for (const auto& reader : chosen) {
    newest = std::max(newest, reader->record().statistics.max_timestamp);
    for (const HunkUse& use : reader->record().hunks) {
      if (garbage.contains(use.blob)) spec.unwanted_hunks.insert(use.blob);
    }
  }
  spec.scope = scope(newest);
  spec.outside = outside(chosen, nullptr, newest);
  if (job.kind == Kind::kPartition) spec.cuts = stores_.pivots();
  if (job.kind == Kind::kSplit) spec.cuts = split_pivots(job, chosen);
  return spec;
}

// Finds the damaged chunks by reading them one by one. Other compactions continue without those.
Task<void> Maintenance::Impl::exclude_damaged(Readers chosen, Error error) {
  ReadSpec everything;
  everything.all_versions = true;
  bool found = false;
  for (const auto& reader : chosen) {
    const auto cursor = reader->scan({}, everything, false);
    Result<void> loaded;
    for (RowCursor::Step step = cursor->next(); step != RowCursor::Step::kEnd && loaded;
         step = cursor->next()) {
      if (step != RowCursor::Step::kNeedsData) continue;
      loaded = co_await cursor->load();
      if (stopping_) co_return;
    }
    if (loaded || loaded.error().code != Errc::kCorrupt) continue;
    excluded_.insert_or_assign(reader->record().id, std::move(loaded).error());
    found = true;
  }
  if (found) co_return;
  for (const auto& reader : chosen) excluded_.insert_or_assign(reader->record().id, error);
}

// Units that are deleted as a whole are not read; `unread` is set to the number of chunks with such
// units.
Task<Result<BuildOutcome>> Maintenance::Impl::merge(const Readers& chosen, BuildSpec spec,
                                                    std::size_t& unread) {
  CO_TRY(std::vector<SkippedUnits> skipped,
         co_await find_deleted_units(places(Urgency::kMerge), chosen, settings_.mount.retention(),
                                     spec.scope));
  ReadSpec everything;
  everything.all_versions = true;
  std::vector<std::unique_ptr<RowCursor>> sources;
  bool dropped = false;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto parts = std::ranges::count(skipped[i], true);
    if (parts > 0) dropped = true;
    if (parts > 0 && parts == std::ssize(skipped[i])) {
      ++unread;
    } else {
      sources.push_back(chosen[i]->scan(kept_rows(), everything, false, std::move(skipped[i])));
    }
  }
  CO_TRY(BuildOutcome built, co_await build_chunks(places(Urgency::kMerge), std::move(spec),
                                                   merge_cursors(std::move(sources))));
  if (dropped) built.dropped = true;
  co_return std::move(built);
}

// The chunks of a failed merge that have a part of the row that was too large. The others can be
// merged without them.
std::vector<std::uint64_t> Maintenance::Impl::with_refused_row(
    const std::vector<std::uint64_t>& chunks) const {
  if (refused_key_.empty()) return chunks;
  std::vector<std::uint64_t> large;
  std::vector<std::uint64_t> around;
  for (const std::uint64_t id : chunks) {
    const auto reader = stores_.chunk(id);
    if (!reader || refused_key_ < first_key(reader->record()) ||
        refused_key_ > last_key(reader->record())) {
      continue;
    }
    around.push_back(id);
    if (reader->large_row_bytes(as_bytes(refused_key_)) != 0) large.push_back(id);
  }
  if (!large.empty()) return large;
  return around.empty() ? chunks : around;
}

Task<Result<void>> Maintenance::Impl::rewrite(CompactionJob job) {
  Readers chosen;
  StoreLog::Replace change;
  std::uint64_t bytes_in = 0;
  for (const std::uint64_t id : job.chunks) {
    chosen.push_back(stores_.chunk(id));
    bytes_in += chosen.back()->record().statistics.data_bytes;
  }
  BuildSpec spec = rewrite_spec(job, chosen);
  spec.refused_key = &refused_key_;
  change.build = spec.build;
  change.removed = job.chunks;
  if (job.kind == Kind::kSplit) {
    if (spec.cuts.empty() || !pivots_fit(with_pivots(spec.cuts))) {
      unsplittable_[stores_.pivots()[job.partition]] = bytes_in;
      co_return Result<void>{};
    }
    change.pivots = with_pivots(spec.cuts);
  }
  Timestamp newest = 0;
  for (const auto& reader : chosen) {
    newest = std::max(newest, reader->record().statistics.max_timestamp);
  }
  const Timestamp retained = horizon(newest);
  const std::uint64_t applied_ms = retention_applied_ms();
  const bool may_lose_rows = settings_.mount.min_data_versions == 0;
  std::size_t unread = 0;
  auto built = co_await merge(chosen, std::move(spec), unread);
  if (!built && built.error().code == Errc::kCorrupt) {
    co_await exclude_damaged(std::move(chosen), built.error());
  }
  chosen.clear();
  if (!built) {
    co_await abandon_build(change.build);
    co_return std::unexpected(std::move(built).error());
  }
  if (built->dropped) {
    change.retained_timestamp = retained;
    change.loses_rows = may_lose_rows;
  }
  std::uint64_t bytes_out = 0;
  for (const BuiltChunk& chunk : built->chunks) {
    bytes_out += chunk.record.statistics.data_bytes;
    retained_ms_[chunk.record.id] = applied_ms;
  }
  CO_TRY_VOID(co_await install(std::move(change), std::move(built->chunks)));
  ++counted_.compactions;
  counted_.chunks_dropped_unread += unread;
  counted_.compacted_bytes_in += bytes_in;
  counted_.compacted_bytes_out += bytes_out;
  co_return Result<void>{};
}

}  // namespace moraine::table
