// Commits to blocks that were written before take half the time: fresh segments are filled with
// zeros ahead of need.

#include <algorithm>

#include "blob/device/device.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kPrewriteBytes = 256u << 10;
constexpr std::uint64_t kSmallBatchBytes = 32u << 10;  // Larger ones gain little.
constexpr Duration kPrewritePause = 1ms;               // Under load: commits come first.
constexpr std::uint64_t kFirstEpoch = 1;

}  // namespace

// A fresh segment, when fewer than `least` written ones are free.
std::optional<std::uint32_t> Device::choose_prewrite(std::uint32_t least) const {
  std::uint32_t ready = 0;
  std::optional<std::uint32_t> fresh;
  for (std::uint32_t i = 0; i < segments_.count(); ++i) {
    if (segments_[i].use != SegmentUse::kFree) continue;
    if (segments_[i].written) {
      ++ready;
    } else if (i != next_segment_ || next_ready_) {
      if (!fresh || i == next_segment_) fresh = i;
    }
  }
  return ready >= least ? std::nullopt : fresh;
}

// On an idle device it stops as soon as appends come, and continues there later. Under a load of
// small commits, which gain most, it begins only when no written segment is left: on a file,
// commits to written blocks are slow too while other blocks are written for the first time.
Task<void> Device::prewrite(bool idle) {
  const std::uint64_t batches = stats_.batches - std::exchange(batches_then_, stats_.batches);
  const std::uint64_t bytes =
      stats_.bytes_appended - std::exchange(bytes_then_, stats_.bytes_appended);
  const bool small = batches > 0 && bytes / batches < kSmallBatchBytes;
  if ((!idle && !small) || prewriting_ || segments_.free() <= reserved_segments() + 2) co_return;
  const auto fresh = choose_prewrite(idle ? kPrewrittenSegments : 1);
  if (next_ready_ && !segments_[*next_segment_].written) {
    // A written segment is available, or will be.
    next_segment_.reset();
    next_ready_ = false;
    if (!fresh) prepare_next();
  }
  if (!fresh) {
    if (idle) leave_slow_segment();
    co_return;
  }
  prewriting_ = fresh;
  const Slice zeros = Buffer::zeroed(kPrewriteBytes).freeze();
  const std::uint64_t start = superblock_.segment_offset(*fresh);
  std::uint64_t done = prewrite_left_at_.segment == fresh ? prewrite_left_at_.bytes : 0;
  while (done < superblock_.segment_bytes && !scope_.closed() && !failure_) {
    if ((idle && busy()) || stalled_) break;
    const std::uint64_t size =
        std::min<std::uint64_t>(kPrewriteBytes, superblock_.segment_bytes - done);
    std::vector<Slice> pieces;
    pieces.push_back(zeros.sub(0, size));
    const auto written =
        co_await disk_->write(start + done, std::move(pieces), Durability::kCached);
    if (!written) break;  // The file system is full, or log writes will fail in the same way.
    done += size;
    if (!idle) co_await sleep_for(world_.executor, kPrewritePause);
  }
  const auto synced = co_await disk_->sync();
  prewriting_.reset();
  if (!synced) fail_device(Error(synced.error()).within("sync"));
  if (failure_) co_return;
  prewrite_left_at_ = {fresh, done};
  if (done == superblock_.segment_bytes) {
    prewrite_left_at_ = {};
    segments_.at(*fresh).written = true;
    segments_.at(*fresh).holes = false;
    ++stats_.segments_prewritten;
  }
  prepare_next();
  schedule_pump();
}

// Seals an open segment that was not written before, so that a written one is opened next.
void Device::leave_slow_segment() {
  if (!open_segment_ || segments_[*open_segment_].written) return;
  if (!in_flight_.empty() || has_pending() || !next_ready_) return;
  if (!segments_[*next_segment_].written) return;
  const bool roomy = segments_.free() * 2 > segments_.count();
  // A new device's first segment begins with written blocks.
  const Segment& open = segments_[*open_segment_];
  const std::uint64_t prefilled =
      open.epoch > kFirstEpoch
          ? 0
          : std::min(kFormatPrefillBytes, std::uint64_t{superblock_.segment_bytes} * 3 / 4);
  if (roomy && open.used >= prefilled) seal_open();
}

}  // namespace moraine::blob
