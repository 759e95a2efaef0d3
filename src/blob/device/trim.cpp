// Returning dead space to the file system.
//
// A sealed segment behind the last checkpoint is read only by the owners of its live data: recovery
// starts at the checkpoint. So its dead parts can be discarded. The owners list what is live; a
// segment is changed only when the list accounts for every live byte of it, and is held against
// reuse until the last discard has completed. The live bytes of a sealed segment only decrease, so
// what was dead when the list was checked stays dead.

#include <algorithm>

#include "blob/device/device.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kTrimmedAtOnce = 64;  // Segments for one pass over the owners' indexes.
constexpr std::uint64_t kSegmentWorthMax = 256u << 10;
constexpr std::uint64_t kGapBytesMax = 16u << 10;  // Smaller gaps are kept, in large segments.
constexpr std::uint64_t kGapsPerSegment = 1024;
constexpr std::uint64_t kLivePerIdleGarbage = 256;
constexpr std::uint64_t kLivePerGarbage = 12;  // Under load.
constexpr std::uint64_t kSegmentPerGain = 8;   // Likewise, of one segment.
constexpr std::uint64_t kCheckpointsPerGarbage = 2;
constexpr Duration kTrimPause = 20ms;  // After a pass that freed nothing; doubles with each.
constexpr Duration kTrimPauseMax = 64s;
constexpr Duration kGiveBackPause = 5ms;
constexpr int kGiveBackRounds = 8;

std::uint32_t gap_worth(std::uint32_t segment_bytes) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(segment_bytes / kGapsPerSegment, kSectorSize, kGapBytesMax));
}

}  // namespace

Device::Garbage Device::garbage() const {
  Garbage found;
  for (std::uint32_t i = 0; i < segments_.count(); ++i) {
    const Segment& segment = segments_[i];
    if (segment.use == SegmentUse::kFree) continue;
    const std::uint64_t gain = segments_.gain(i);
    if (segment.use == SegmentUse::kOpen) {
      found.open += gain;
    } else if (segment.last_sequence < manifest_.start_sequence) {
      found.ready += gain;
    } else {
      found.held += gain;
    }
  }
  return found;
}

bool Device::may_trim() const {
  return can_discard_ && !trimming_ && !failure_ && !scope_.closed() &&
         world_.executor.now() >= trim_after_;
}

// The least gain for which a segment is trimmed.
std::uint64_t Device::segment_worth() const {
  return std::min<std::uint64_t>(kSegmentWorthMax, superblock_.segment_bytes / 8);
}

void Device::seal_open() {
  segments_.seal(*open_segment_);
  open_segment_.reset();
  open_sector_ = 0;
}

// Done by the maintenance loop, where checkpoints, cleaning and trimming take turns.
Task<void> Device::give_back() {
  const std::uint64_t ticket = ++give_back_asked_;
  nudge();
  while (give_back_done_ < ticket && !options_.read_only && !failure_ && !scope_.closed()) {
    co_await work_changed_.wait(scope_);
  }
}

// Discards dead space where it is worth it. A checkpoint makes space written since the last one
// available; the open segment is sealed when it has enough dead space itself. give_back() gets more
// rounds, for a segment that was being written to or whose facts were changing.
Task<void> Device::reclaim(bool stop_when_busy) {
  const int rounds = stop_when_busy ? 1 : kGiveBackRounds;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) co_await sleep_for(world_.executor, kGiveBackPause);
    if (!stop_when_busy) trim_after_ = {};
    release_dead();
    if (!may_trim()) co_return;
    Garbage found = garbage();
    if (manifest_.start_run != run_) found.held += std::exchange(found.ready, 0);
    const std::uint64_t worth =
        std::max({segment_worth(), segments_.live_bytes() / kLivePerIdleGarbage,
                  kCheckpointsPerGarbage * checkpoint_bytes_});
    const bool leave = open_segment_ && found.open >= segment_worth() && in_flight_.empty() &&
                       !has_pending() && segments_.free() > reserved_segments() + 2;
    if (found.held + (leave ? found.open : 0) >= worth) {
      if (leave) seal_open();
      if (!co_await checkpoint()) co_return;
      release_dead();
    } else if (found.ready < worth) {
      if (found.open < worth) co_return;
      continue;
    }
    if (may_trim()) co_await trim(segment_worth(), stop_when_busy);
  }
}

// Commits to a segment with holes are slow when it is reused, so segments that will soon be dead as
// a whole are not trimmed.
Task<void> Device::trim_under_load() {
  if (!may_trim()) co_return;
  const std::uint64_t least = superblock_.segment_bytes / kSegmentPerGain;
  const std::uint64_t worth = std::max(least, segments_.live_bytes() / kLivePerGarbage);
  if (garbage().ready >= worth) co_await trim(least, false);
}

Task<void> Device::trim(std::uint64_t least, bool stop_when_busy) {
  if (manifest_.start_run != run_) co_return;
  trimming_ = true;
  for (bool more = true; more && !failure_ && !scope_.closed();) {
    const auto chosen = segments_.trimmable(manifest_.start_sequence, least, kTrimmedAtOnce);
    if (chosen.empty()) break;
    LiveMap map(chosen, superblock_.segment_bytes);
    std::vector<std::shared_ptr<DeviceOwner>> owners;
    for (const auto& [slot, owner] : owners_) owners.push_back(owner);
    for (const auto& owner : owners) co_await owner->visit_live(map);
    // Nothing is awaited from here until the segments are held.
    for (const Manifest::Chunk& chunk : manifest_.chunks) map.add(chunk.location);
    map.add(manifest_location_);
    std::vector<std::uint32_t> held;
    for (const std::uint32_t segment : chosen) {
      if (!accounted_for(segment, map)) continue;
      ++segments_.at(segment).readers;
      held.push_back(segment);
    }
    bool going = true;
    const std::uint32_t least_gap = gap_worth(superblock_.segment_bytes);
    for (const std::uint32_t segment : held) {
      if (going) {
        going = co_await discard_gaps(segment, map.gaps(segment, least_gap), stop_when_busy);
      }
      --segments_.at(segment).readers;
    }
    // Segments whose data died while it was listed are tried again as long as there is progress.
    more = going && !held.empty();
    if (more) {
      trim_pause_ = {};
      continue;
    }
    trim_pause_ = std::clamp<Duration>(2 * trim_pause_, kTrimPause, kTrimPauseMax);
    trim_after_ = world_.executor.now() + trim_pause_;
  }
  trimming_ = false;
  work_changed_.notify_all();
}

// The map has every live byte of the segment, and no read of dead data is in progress.
bool Device::accounted_for(std::uint32_t segment, const LiveMap& map) const {
  const Segment& s = segments_[segment];
  return !failure_ && s.use == SegmentUse::kSealed && s.readers == 0 &&
         s.last_sequence < manifest_.start_sequence && map.bytes(segment) == s.live;
}

// False when it stopped early.
Task<bool> Device::discard_gaps(std::uint32_t segment, std::vector<LiveMap::Gap> gaps,
                                bool stop_when_busy) {
  const std::uint64_t base = superblock_.segment_offset(segment);
  const std::uint64_t basis = segments_[segment].live;
  std::uint64_t given = 0;
  for (const LiveMap::Gap& gap : gaps) {
    if (failure_ || scope_.closed() || stalled_ || (stop_when_busy && busy())) co_return false;
    const auto done = co_await disk_->discard(base + gap.offset, gap.size);
    if (!done) {
      // The file system has no holes, or log writes will fail in the same way.
      if (done.error().code == Errc::kUnsupported) can_discard_ = false;
      co_return false;
    }
    segments_.at(segment).holes = true;
    given += gap.size;
  }
  const std::uint64_t before = segments_[segment].used;
  segments_.measure(segment, std::min(before, superblock_.segment_bytes - given), basis);
  ++stats_.segments_trimmed;
  stats_.bytes_trimmed += before - segments_[segment].used;
  co_return true;
}

// Discards free segments beyond those that are kept ready.
Task<void> Device::shrink() {
  if (!may_trim() || prewriting_ || manifest_.start_run != run_) co_return;
  if (segments_.free() <= reserved_segments() + 2) co_return;
  std::uint32_t ready = 0;
  for (std::uint32_t i = 0; i < segments_.count(); ++i) {
    if (failure_ || scope_.closed() || busy()) co_return;
    const Segment& segment = segments_[i];
    if (segment.use != SegmentUse::kFree || i == next_segment_) continue;
    if (!segment.holes && (!segment.written || ++ready <= kPrewrittenSegments)) continue;
    if (prewrite_left_at_.segment == i) prewrite_left_at_ = {};
    prewriting_ = i;
    const auto done =
        co_await disk_->discard(superblock_.segment_offset(i), superblock_.segment_bytes);
    prewriting_.reset();
    schedule_pump();
    if (!done) {
      if (done.error().code == Errc::kUnsupported) can_discard_ = false;
      co_return;
    }
    segments_.at(i).written = false;
    segments_.at(i).holes = false;
  }
}

}  // namespace moraine::blob
