#include "blob/device/segments.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/invariant.h"
#include "io/disk.h"

namespace moraine::blob {
namespace {

constexpr std::uint64_t kCopyOverhead = 16u << 10;  // Headers of batches, per segment.
constexpr std::uint64_t kRecordOverhead = 64;       // Its descriptor and facts.
constexpr std::uint64_t kPaddingShare = 32;         // One byte of padding per this many bytes.
constexpr std::uint64_t kGainShare = 32;         // Cleaning must gain this fraction of a segment.
constexpr std::uint64_t kWholeShare = 1u << 16;  // Of a segment: shares are counted in integers.

// Space that records occupy when they are copied.
std::uint64_t copied_bytes(std::uint64_t live, std::uint64_t records) {
  return live + live / kPaddingShare + records * kRecordOverhead;
}

// The usable part of a segment: it ends where the next record, of `record` bytes, does not fit. Two
// consecutive segments hold more than one together, so it is half a segment at least.
std::uint64_t usable_bytes(std::uint64_t segment, std::uint64_t record) {
  return segment - std::min(segment / 2, record);
}

// What cleaning fills a segment to when it moves records like these. The record that does not fit
// is a long one: the longer, the more bytes it has among those that are moved.
std::uint64_t cleaned_bytes(const Segment& s, std::uint64_t segment_bytes) {
  const std::uint64_t record = s.squares / std::max<std::uint64_t>(s.live, 1);
  return usable_bytes(segment_bytes, record) - kCopyOverhead - segment_bytes / kGainShare;
}

bool worth_cleaning(const Segment& s, std::uint64_t segment_bytes) {
  return copied_bytes(s.live, s.records) <= cleaned_bytes(s, segment_bytes);
}

// Records to be copied, and the segments that they fill at most.
struct Copies {
  std::uint64_t bytes = 0;
  std::uint64_t longest = 0;

  void add(const Segment& s) {
    bytes += copied_bytes(s.live, s.records) + kCopyOverhead;
    longest = std::max(longest, copied_bytes(s.longest, 1) + 2 * kSectorSize);
  }
  // A segment is left when the next record does not fit. So each but the last is filled up to the
  // longest record, and two consecutive ones hold more than one segment: they average
  // usable_bytes().
  std::uint32_t segments(std::uint64_t segment_bytes, std::uint64_t open_room) const {
    if (bytes <= open_room) return 0;
    const std::uint64_t first = open_room - std::min(open_room, longest);
    return static_cast<std::uint32_t>((bytes - first) / usable_bytes(segment_bytes, longest)) + 1;
  }
};

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
  s.longest = 0;
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
  Segment& s = segments_[location.segment];
  needed_ -= share_needed(s);
  s.live += location.size;
  ++s.records;
  s.squares += std::uint64_t{location.size} * location.size;
  s.longest = std::max(s.longest, location.size);
  live_bytes_ += location.size;
  needed_ += share_needed(s);
}

void SegmentTable::drop_live(const Location& location) {
  if (location.size == 0) return;
  Segment& s = segments_[location.segment];
  INVARIANT(s.live >= location.size && s.records > 0,
            "segment {} has {} live bytes of {} records, {} are dropped", location.segment, s.live,
            s.records, location.size);
  needed_ -= share_needed(s);
  s.live -= location.size;
  --s.records;
  s.squares -= std::uint64_t{location.size} * location.size;
  live_bytes_ -= location.size;
  needed_ += share_needed(s);
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
  Copies copies;
  std::size_t taken = 0;
  for (; taken < found.size(); ++taken) {
    copies.add(segments_[found[taken]]);
    if (copies.segments(segment_bytes_, limits.open_room) > limits.segments) break;
  }
  found.resize(taken);
  return found;
}

std::uint32_t SegmentTable::segments_of_copies(const std::vector<std::uint32_t>& victims,
                                               std::uint64_t open_room) const {
  Copies copies;
  for (const std::uint32_t i : victims) {
    if (segments_[i].live > 0) copies.add(segments_[i]);
  }
  return copies.segments(segment_bytes_, open_room);
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

// What cleaning reduces the segment to. One that it would not gain from is needed as a whole.
std::uint64_t SegmentTable::share_needed(const Segment& s) const {
  if (s.live == 0) return 0;
  const std::uint64_t copied = copied_bytes(s.live, s.records);
  return std::min(kWholeShare, copied * kWholeShare / cleaned_bytes(s, segment_bytes_));
}

// So when nothing can be cleaned, every segment with live data counts: the colour is pre-orange
// before there are too few segments for ordinary data.
Colour SegmentTable::colour(std::uint64_t pending, std::uint64_t pending_records) const {
  const std::uint64_t record = pending / std::max<std::uint64_t>(pending_records, 1);
  const std::uint64_t usable = usable_bytes(segment_bytes_, record);
  const std::uint64_t waiting = copied_bytes(pending, pending_records) * kWholeShare / usable;
  const std::uint64_t needed =
      (needed_ + waiting + kWholeShare - 1) / kWholeShare + spared_ / segment_bytes_;
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
