#include "io/sim/sim_medium.h"

#include <algorithm>
#include <utility>

namespace moraine {
namespace {

enum class Fate : std::uint8_t { kKept, kLost, kTornPrefix, kTornSubset };

Fate choose_fate(Random& random) {
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2: return Fate::kKept;
    case 3:
    case 4:
    case 5: return Fate::kLost;
    case 6: return Fate::kTornPrefix;
    default: return Fate::kTornSubset;
  }
}

// The sectors that arrived of a torn write of `sectors`.
SimSectorMask torn_mask(Fate fate, std::uint64_t sectors, Random& random) {
  SimSectorMask mask(sectors, false);
  const std::uint64_t prefix = random.below(sectors + 1);
  for (std::uint64_t i = 0; i < sectors; ++i) {
    mask[i] = fate == Fate::kTornPrefix ? i < prefix : random.one_in(2);
  }
  return mask;
}

// Applies what a power cut leaves of one write.
void apply_fate(DiskImage& image, const SimExtent& extent, const SimSectorMask& written,
                Random& random, FaultCounters& faults) {
  const Fate fate = choose_fate(random);
  if (fate == Fate::kKept) {
    image.write(extent, written);
    return;
  }
  if (fate == Fate::kLost || extent.sectors() <= 1) {
    faults.add(FaultKind::kUnsyncedLost);
    return;
  }
  faults.add(FaultKind::kUnsyncedTorn);
  SimSectorMask mask = torn_mask(fate, extent.sectors(), random);
  for (std::size_t i = 0; i < written.size(); ++i) mask[i] = mask[i] && written[i];
  image.write(extent, mask);
}

// The write lands at another place of the same disk.
void apply_misdirected(DiskImage& image, const SimExtent& extent, Random& random,
                       FaultCounters& faults) {
  faults.add(FaultKind::kMisdirectedWrite);
  if (extent.size > image.size()) return;
  SimExtent elsewhere = extent;
  const std::uint64_t places = (image.size() - extent.size) / kSectorSize + 1;
  elsewhere.offset = random.below(places) * kSectorSize;
  image.write(elsewhere);
}

}  // namespace

void SimMedium::write(SimExtent extent, bool durable) {
  visible_.write(extent);
  if (durable && log_.empty()) {
    durable_.write(extent);
    return;
  }
  log_.push_back({std::move(extent), {}, next_++, durable});
  if (log_.size() > kUnsyncedMax) settle_front();
}

void SimMedium::write_part(const SimExtent& extent, Random& random) {
  SimSectorMask mask = torn_mask(choose_fate(random), extent.sectors(), random);
  visible_.write(extent, mask);
  log_.push_back({extent, std::move(mask), next_++, false});
}

void SimMedium::sync(std::uint64_t mark) {
  while (!log_.empty() && (log_.front().number < mark || log_.front().durable)) settle_front();
}

void SimMedium::fail_sync(std::uint64_t mark, Random& random, FaultCounters& faults) {
  while (!log_.empty() && (log_.front().number < mark || log_.front().durable)) {
    const Unsynced& front = log_.front();
    if (front.durable) durable_.write(front.extent);
    if (!front.durable) apply_fate(durable_, front.extent, front.mask, random, faults);
    log_.pop_front();
  }
}

DiskImage SimMedium::crash_image(CrashPolicy policy, const std::vector<const SimExtent*>& in_flight,
                                 FaultChance& misdirect, Random& random,
                                 FaultCounters& faults) const {
  DiskImage image = durable_;
  const auto apply = [&](const SimExtent& extent, const SimSectorMask& written, bool durable) {
    if (durable || policy == CrashPolicy::kKeep) return image.write(extent, written);
    if (policy == CrashPolicy::kLose) return faults.add(FaultKind::kUnsyncedLost);
    if (!extent.discard && misdirect.strikes(random))
      return apply_misdirected(image, extent, random, faults);
    apply_fate(image, extent, written, random, faults);
  };
  for (const Unsynced& write : log_) apply(write.extent, write.mask, write.durable);
  for (const SimExtent* extent : in_flight) apply(*extent, {}, false);
  return image;
}

void SimMedium::replace(DiskImage image) {
  log_.clear();
  durable_ = std::move(image);
  visible_ = durable_;
}

void SimMedium::flip_bit(std::uint64_t offset, unsigned bit) {
  visible_.flip_bit(offset, bit);
  const std::uint64_t sector = align_down(offset, kSectorSize);
  const bool in_log = std::any_of(log_.begin(), log_.end(), [sector](const Unsynced& write) {
    return write.extent.offset <= sector && sector < write.extent.end();
  });
  if (in_log) {
    log_.push_back({SimExtent(sector, {visible_.read(sector, kSectorSize)}), {}, next_++, true});
  } else if (offset < durable_.size()) {
    durable_.flip_bit(offset, bit);
  }
}

void SimMedium::settle_front() {
  const Unsynced& front = log_.front();
  durable_.write(front.extent, front.mask);
  log_.pop_front();
}

}  // namespace moraine
