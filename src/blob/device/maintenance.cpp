// Checkpoints, cleaning, and what to do when no segment is free.

#include <algorithm>
#include <utility>

#include "blob/device/device.h"
#include "blob/device/record_kinds.h"

namespace moraine::blob {
namespace {

constexpr Duration kMaintenancePeriod = 500ms;
constexpr std::size_t kVictimsMax = 16;         // Evacuated in one pass over the owners' indexes.
constexpr std::uint64_t kCheckpointRatio = 8;   // Log bytes per checkpoint byte, at least.
constexpr std::uint64_t kRatioForSpace = 16;    // The same while the log is short.
constexpr std::uint64_t kLogPerLive = 4;        // Live bytes per log byte after the checkpoint.
constexpr std::uint64_t kSpacePerGarbage = 16;  // Log bytes per dead one that justify a checkpoint.
constexpr std::uint64_t kChecksPerSegment = 16;  // Checks for dead bytes per segment of log.
constexpr Duration kIdleToShrink = 10s;
constexpr double kFillUnderPressure = 0.8;
constexpr double kFillWhenStalled = 0.97;
constexpr int kReliefRounds = 64;
constexpr std::uint64_t kCheckpointSlack = 64u << 10;
constexpr std::uint32_t kFreeUnderPressure = 2;  // Segments that ordinary data may use.

// Cleaning costs copies, so it waits until a quarter of the device is free, and cleans fuller
// segments below an eighth, or when appends will soon have to wait.
double fill_to_clean(std::uint32_t free, std::uint32_t count, std::uint32_t reserved,
                     double fill_max) {
  if (free * 4 >= count) return 0;
  if (free * 8 >= count && free > reserved + kFreeUnderPressure) return fill_max;
  return std::max(fill_max, kFillUnderPressure);
}

}  // namespace

// Appends the checkpoint chunks of one owner to the log.
class Device::Sink final : public CheckpointSink {
 public:
  Sink(Device& device, OwnerSlot owner, Manifest& manifest)
      : device_(device), owner_(owner), manifest_(manifest) {}
  Task<Result<void>> write(Slice chunk) override {
    CO_TRY(const Location location, co_await device_.append(owner_, kChunkRecord, SmallBytes(),
                                                            chunk, AppendClass::kMaintenance));
    manifest_.chunks.push_back({owner_, location});
    co_return Result<void>();
  }

 private:
  Device& device_;
  OwnerSlot owner_;
  Manifest& manifest_;
};

void Device::nudge() {
  nudges_.set();
}

std::uint32_t Device::checkpoint_segments() const {
  const std::uint64_t checkpoints = 2 * checkpoint_bytes_;
  return kCheckpointSegments + static_cast<std::uint32_t>(checkpoints / superblock_.segment_bytes);
}

std::uint64_t Device::checkpoint_room() const {
  return 2 * checkpoint_bytes_ + kCheckpointSlack;
}

std::uint32_t Device::reserved_segments() const {
  return checkpoint_segments() + kCopySegments + kFactSegments;
}

// By the log's length, sooner when few segments are free, since only a checkpoint frees them. While
// dead bytes wait for a checkpoint, the length is in proportion to the live bytes: a device with
// little live data does not accumulate garbage.
bool Device::checkpoint_due() {
  if (checkpointing_) return false;
  if (segments_.free() <= reserved_segments() + 2) return log_bytes_ >= superblock_.segment_bytes;
  const std::uint64_t least = kCheckpointRatio * checkpoint_bytes_;
  if (log_bytes_ < least) return false;
  if (log_bytes_ >= options_.checkpoint_log_bytes) return true;
  const std::uint64_t for_space =
      std::max({segments_.live_bytes() / kLogPerLive, std::uint64_t{superblock_.segment_bytes} / 2,
                kRatioForSpace * checkpoint_bytes_});
  if (log_bytes_ < std::max(for_space, garbage_check_at_)) return false;
  garbage_check_at_ = log_bytes_ + superblock_.segment_bytes / kChecksPerSegment;
  return garbage().held >= for_space / kSpacePerGarbage;
}

Task<void> Device::maintain() {
  idle_since_ = world_.executor.now();
  while (!scope_.closed() && !failure_) {
    co_await nudges_.wait_until(world_.executor.now() + kMaintenancePeriod, scope_);
    if (scope_.closed() || failure_) break;
    co_await maintain_once();
  }
}

Task<void> Device::maintain_once() {
  if (stalled_) co_await relieve_stall();
  if (segments_.no_blocks()) prepare_next();  // There may be some by now.
  if (checkpoint_due()) checkpoint_wanted_ = true;
  if (!failure_ && std::exchange(checkpoint_wanted_, false)) (void)co_await checkpoint();
  release_dead();
  const double fill = segments_.stuck()
                          ? kFillWhenStalled
                          : fill_to_clean(segments_.free(), segments_.count(), reserved_segments(),
                                          options_.clean_fill_max);
  if (fill > 0 && !failure_) (void)co_await clean(fill);
  if (failure_) co_return;
  const bool idle = note_idle();
  if (const std::uint64_t asked = give_back_asked_; asked > give_back_done_) {
    co_await reclaim(false);
    give_back_done_ = asked;
    work_changed_.notify_all();
  } else if (idle) {
    co_await reclaim(true);
  } else {
    co_await trim_under_load();
  }
  if (!failure_) co_await prewrite(idle);
  if (idle && world_.executor.now() - idle_since_ >= kIdleToShrink) co_await shrink();
}

// True when no ordinary append came for a period.
bool Device::note_idle() {
  const Instant now = world_.executor.now();
  if (busy()) idle_since_ = now;
  ordinary_seen_ = ordinary_appends_;
  return now - idle_since_ >= kMaintenancePeriod;
}

// Ordinary appends wait for free segments. Frees dead segments, then those that a checkpoint makes
// dead, then cleans, until the first that waits is admitted; when nothing helps, those that are not
// admitted fail with kNoSpace. One call at a time: a second one would take segments that the first
// is cleaning for segments that cannot be freed.
Task<void> Device::relieve_stall() {
  const auto relieved = [this] {
    return ordinary_.empty() || admits(*ordinary_.front(), open_room());
  };
  bool checkpointed = false;
  for (int round = 0; round < kReliefRounds && !failure_; ++round) {
    release_dead();
    if (relieved()) break;
    const auto freed = co_await clean(kFillWhenStalled);
    if (freed && *freed) continue;
    if (checkpointed) break;
    checkpointed = true;
    if (!co_await checkpoint()) break;
  }
  stalled_ = false;
  if (!failure_ && !relieved()) {
    segments_.set_stuck(true);
    fail_pending(Error{Errc::kNoSpace, fmt::format("{}: no segment can be freed", path_)},
                 Pending::kNotAdmitted);
  }
  schedule_pump();
  work_changed_.notify_all();
}

void Device::release_dead() {
  for (const std::uint32_t segment : segments_.dead(manifest_.start_sequence)) {
    segments_.release(segment);
    ++stats_.segments_freed;
    schedule_pump();
  }
  if (segments_.free() > reserved_segments()) segments_.set_stuck(false);
}

// What copies may fill. Ordinary appends go on beside them unless they wait for it: then they may
// fill the open segment, and half of the free segments that they may use stays theirs.
void Device::limit_copies(SegmentTable::CleanLimits& limits) const {
  const std::uint32_t free = segments_.free();
  const std::uint32_t kept = checkpoint_segments();
  limits.segments = free - std::min(free, kept);
  if (stalled_) {
    const std::uint64_t spared = free < kept ? checkpoint_room() : 0;
    limits.open_room = open_room() - std::min(open_room(), spared);
  } else {
    const std::uint32_t half = (free - std::min(free, reserved_segments())) / 2;
    limits.segments = std::min(limits.segments, std::max(1u, half));
  }
}

Task<Result<bool>> Device::clean(double fill_max) {
  if (cleaning_) co_return false;
  cleaning_ = true;
  const std::uint64_t freed_before = stats_.segments_freed;
  release_dead();
  SegmentTable::CleanLimits limits;
  limits.fill_max = fill_max;
  limits.most = kVictimsMax;
  limit_copies(limits);
  victims_ = segments_.victims(manifest_.start_sequence, limits);
  SegmentSet set(segments_.count(), false);
  for (const std::uint32_t segment : victims_) set[segment] = true;
  Result<void> outcome;
  if (!victims_.empty()) {
    for (auto& [slot, owner] : owners_) {
      outcome = co_await owner->evacuate(set);
      if (!outcome) break;
    }
  }
  stats_.segments_evacuated += victims_.size();
  victims_.clear();
  release_dead();
  cleaning_ = false;
  work_changed_.notify_all();
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return stats_.segments_freed != freed_before;
}

Task<Result<void>> Device::checkpoint() {
  if (checkpointing_) co_return Result<void>();
  checkpointing_ = true;
  Manifest manifest;
  // Everything up to durable_ has been applied by the owners; the rest is replayed.
  manifest.start_sequence = durable_ + 1;
  manifest.start_run = run_;
  manifest.start_epoch = !in_flight_.empty() ? in_flight_.front()->epoch
                         : open_segment_     ? segments_[*open_segment_].epoch
                                             : epoch_ + 1;
  if (durable_ < run_first_) manifest.start_sequence = run_first_;
  const std::uint64_t log_bytes_before = log_bytes_;
  Result<void> outcome;
  for (auto& [slot, owner] : owners_) {
    Sink sink(*this, slot, manifest);
    outcome = co_await owner->checkpoint(sink);
    if (!outcome) break;
  }
  Location location;
  if (outcome) {
    auto written = co_await write_manifest(manifest);
    if (written) {
      location = *written;
      outcome = co_await write_root(location, false);
    } else {
      outcome = std::unexpected(std::move(written).error());
    }
  }
  if (outcome) {
    std::swap(manifest_, manifest);
    log_bytes_ -= log_bytes_before;
    garbage_check_at_ = 0;
    checkpoint_wanted_ = false;
    checkpoint_bytes_ = location.size;
    for (const Manifest::Chunk& chunk : manifest_.chunks) checkpoint_bytes_ += chunk.location.size;
    segments_.set_spared(2 * checkpoint_bytes_);
    ++stats_.checkpoints;
    location = manifest_location_;
    manifest_location_ = root_.manifest;
  }
  // The older checkpoint, or the written part of a failed one.
  forget_checkpoint(manifest, location);
  checkpointing_ = false;
  work_changed_.notify_all();
  co_return outcome;
}

void Device::forget_checkpoint(const Manifest& manifest, const Location& location) {
  for (const Manifest::Chunk& chunk : manifest.chunks) segments_.drop_live(chunk.location);
  if (location.size > 0) segments_.drop_live(location);
}

Task<Result<Location>> Device::write_manifest(Manifest& manifest) {
  for (std::uint32_t i = 0; i < segments_.count(); ++i) {
    const Segment& segment = segments_[i];
    Manifest::SegmentState state;
    state.epoch = segment.epoch;
    state.used = segment.use != SegmentUse::kFree;
    state.written = segment.written;
    state.holes = segment.holes;
    state.sectors = static_cast<std::uint32_t>(segment.used / kSectorSize);
    manifest.segments.push_back(state);
  }
  co_return co_await append(kDeviceSlot, kManifestRecord, SmallBytes(), encode_manifest(manifest),
                            AppendClass::kMaintenance);
}

}  // namespace moraine::blob
