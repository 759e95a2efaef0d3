#include "blob/device/segments.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::uint64_t kCopyOverhead = 16u << 10;  // Headers of batches, per segment.
constexpr std::uint64_t kRecordOverhead = 64;       // Its descriptor and facts.
constexpr std::uint64_t kPaddingShare = 32;         // One byte of padding per this many bytes.
constexpr std::uint64_t kGainShare = 16;  // Cleaning must gain this fraction of a segment.

// Space that records occupy when they are copied.
std::uint64_t copied_bytes(std::uint64_t live, std::uint64_t records) {
  return live + live / kPaddingShare + records * kRecordOverhead;
}

// The usable part of a segment: it ends where the next record does not fit.
std::uint64_t usable_bytes(std::uint64_t segment, std::uint64_t live, std::uint64_t records) {
  return segment - std::min(segment / 2, live / std::max<std::uint64_t>(records, 1));
}

bool worth_cleaning(const Segment& s, std::uint64_t segment_bytes) {
  const std::uint64_t copied = copied_bytes(s.live, s.records) + kCopyOverhead;
  return copied + segment_bytes / kGainShare <= usable_bytes(segment_bytes, s.live, s.records);
}

}  // namespace

std::optional<std::uint32_t> SegmentTable::choose_free(std::optional<std::uint32_t> except) const {
  std::optional<std::uint32_t> fresh;
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (segments_[i].use != SegmentUse::kFree || i == except) continue;
    if (segments_[i].written) return i;
    if (!fresh) fresh = i;
  }
  return fresh;
}

void SegmentTable::open(std::uint32_t segment, std::uint64_t epoch) {
  Segment& s = segments_[segment];
  INVARIANT(s.use == SegmentUse::kFree, "segment {} is opened while in use", segment);
  INVARIANT(s.live == 0 && s.readers == 0, "segment {} is reused while {} bytes live", segment,
            s.live);
  lives_->end(segment);
  s.use = SegmentUse::kOpen;
  s.epoch = epoch;
  s.last_sequence = 0;
  s.holes = false;
  s.basis = 0;
  --free_;
}

void SegmentTable::seal(std::uint32_t segment) {
  INVARIANT(segments_[segment].use == SegmentUse::kOpen, "segment {} is not open", segment);
  segments_[segment].use = SegmentUse::kSealed;
}

void SegmentTable::reopen(std::uint32_t segment) {
  INVARIANT(segments_[segment].use == SegmentUse::kSealed, "segment {} is not sealed", segment);
  segments_[segment].use = SegmentUse::kOpen;
}

void SegmentTable::release(std::uint32_t segment) {
  Segment& s = segments_[segment];
  INVARIANT(s.use == SegmentUse::kSealed, "segment {} is freed but not sealed", segment);
  INVARIANT(s.live == 0 && s.readers == 0, "segment {} is freed with {} live bytes, {} readers",
            segment, s.live, s.readers);
  lives_->end(segment);
  s.use = SegmentUse::kFree;
  s.written = !s.holes && (s.written || s.used >= segment_bytes_ / 16 * 15);
  measure(segment, 0, 0);
  ++free_;
}

void SegmentTable::add_live(const Location& location) {
  if (location.size == 0) return;
  segments_[location.segment].live += location.size;
  ++segments_[location.segment].records;
  live_bytes_ += location.size;
  ++live_records_;
}

void SegmentTable::drop_live(const Location& location) {
  if (location.size == 0) return;
  Segment& s = segments_[location.segment];
  INVARIANT(s.live >= location.size && s.records > 0,
            "segment {} has {} live bytes of {} records, {} are dropped", location.segment, s.live,
            s.records, location.size);
  s.live -= location.size;
  --s.records;
  live_bytes_ -= location.size;
  --live_records_;
}

void SegmentTable::measure(std::uint32_t segment, std::uint64_t bytes, std::uint64_t basis) {
  Segment& s = segments_[segment];
  used_bytes_ += bytes - s.used;
  s.used = bytes;
  s.basis = basis;
}

void SegmentTable::grow(std::uint32_t segment, std::uint64_t bytes, std::uint64_t new_live) {
  Segment& s = segments_[segment];
  used_bytes_ += bytes - s.used;
  s.used = bytes;
  s.basis += new_live;
}

std::uint64_t SegmentTable::gain(std::uint32_t segment) const {
  const Segment& s = segments_[segment];
  if (s.live == 0) return s.used;
  if (s.live >= s.basis) return 0;
  const double dead = static_cast<double>(s.basis - s.live) / static_cast<double>(s.basis);
  return static_cast<std::uint64_t>(static_cast<double>(s.used) * dead);
}

std::vector<std::uint32_t> SegmentTable::trimmable(std::uint64_t checkpoint, std::uint64_t least,
                                                   std::size_t most) const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
  for (std::uint32_t i = 0; i < count(); ++i) {
    const Segment& s = segments_[i];
    if (s.use != SegmentUse::kSealed || s.live == 0 || s.readers > 0) continue;
    if (s.last_sequence >= checkpoint || gain(i) < least) continue;
    found.emplace_back(gain(i), i);
  }
  std::ranges::sort(found, std::greater<>());
  if (found.size() > most) found.resize(most);
  std::vector<std::uint32_t> segments;
  for (const auto& [gained, segment] : found) segments.push_back(segment);
  return segments;
}

std::vector<std::uint32_t> SegmentTable::dead(std::uint64_t checkpoint) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < count(); ++i) {
    const Segment& s = segments_[i];
    if (s.use == SegmentUse::kSealed && s.live == 0 && s.readers == 0 &&
        s.last_sequence < checkpoint) {
      found.push_back(i);
    }
  }
  return found;
}

std::vector<std::uint32_t> SegmentTable::victims(std::uint64_t checkpoint,
                                                 const CleanLimits& limits) const {
  std::vector<std::uint32_t> found;
  const double live_max = limits.fill_max * segment_bytes_;
  for (std::uint32_t i = 0; i < count(); ++i) {
    const Segment& s = segments_[i];
    if (s.use == SegmentUse::kSealed && s.live > 0 && s.last_sequence < checkpoint &&
        static_cast<double>(s.live) <= live_max && worth_cleaning(s, segment_bytes_)) {
      found.push_back(i);
    }
  }
  std::ranges::sort(found, [this](std::uint32_t a, std::uint32_t b) {
    return std::pair(segments_[a].live, a) < std::pair(segments_[b].live, b);
  });
  if (found.size() > limits.most) found.resize(limits.most);
  std::uint64_t live = 0;
  std::uint64_t records = 0;
  for (const std::uint32_t i : found) {
    live += segments_[i].live;
    records += segments_[i].records;
  }
  const std::uint64_t all = limits.open_room + free_ * usable_bytes(segment_bytes_, live, records);
  const std::uint64_t room = all > limits.spared ? all - limits.spared : 0;
  std::uint64_t needed = 0;
  std::size_t taken = 0;
  for (; taken < found.size(); ++taken) {
    const Segment& s = segments_[found[taken]];
    needed += copied_bytes(s.live, s.records) + kCopyOverhead;
    if (needed > room) break;
  }
  found.resize(taken);
  return found;
}

std::uint32_t SegmentTable::segments_of_copies(const std::vector<std::uint32_t>& victims) const {
  std::uint64_t live = 0;
  std::uint64_t records = 0;
  std::uint64_t needed = 0;
  for (const std::uint32_t i : victims) {
    live += segments_[i].live;
    records += segments_[i].records;
    needed += copied_bytes(segments_[i].live, segments_[i].records) + kCopyOverhead;
  }
  const std::uint64_t usable = usable_bytes(segment_bytes_, live, records);
  return static_cast<std::uint32_t>((needed + usable - 1) / usable);
}

std::uint64_t SegmentTable::capacity_bytes() const {
  const std::uint64_t nominal = std::uint64_t{count()} * segment_bytes_;
  if (!no_blocks_) return nominal;
  std::uint64_t written = 0;
  for (const Segment& segment : segments_) {
    if (segment.use == SegmentUse::kFree && segment.written) written += segment_bytes_;
  }
  return std::min(nominal, live_bytes_ + written);
}

double SegmentTable::free_share() const {
  const std::uint64_t capacity = capacity_bytes();
  if (capacity == 0) return 0;
  return 1.0 - static_cast<double>(live_bytes_) / static_cast<double>(capacity);
}

// Counted in whole segments of live data: what cleaning could reduce the device to.
Colour SegmentTable::colour() const {
  const std::uint64_t usable = usable_bytes(segment_bytes_, live_bytes_, live_records_);
  const std::uint64_t copied = copied_bytes(live_bytes_, live_records_) + spared_;
  const std::uint64_t needed = (copied + usable - 1) / usable;
  const auto free = needed >= count() ? 0u : count() - static_cast<std::uint32_t>(needed);
  const Colour by_bytes = colour_of(free, count());
  if (stuck_) return std::max(by_bytes, Colour::kOrange);
  return no_blocks_ ? std::max(by_bytes, Colour::kYellow) : by_bytes;
}

Colour colour_of(std::uint32_t free, std::uint32_t total) {
  struct Limit {
    Colour colour;
    double share;
    std::uint32_t segments;
  };
  static constexpr std::array<Limit, 8> kLimits{{{Colour::kBlack, 0.001, 2},
                                                 {Colour::kRed, 0.01, 3},
                                                 {Colour::kOrange, 0.03, 4},
                                                 {Colour::kPreOrange, 0.05, 4},
                                                 {Colour::kLightOrange, 0.065, 5},
                                                 {Colour::kYellow, 0.08, 6},
                                                 {Colour::kLightYellow, 0.10, 7},
                                                 {Colour::kCyan, 0.13, 8}}};
  std::uint32_t previous = 0;
  for (const Limit& limit : kLimits) {
    auto at = static_cast<std::uint32_t>(limit.share * total) + limit.segments;
    at = std::max(at, previous + 1);
    if (free <= at) return limit.colour;
    previous = at;
  }
  return Colour::kGreen;
}

}  // namespace moraine::blob
