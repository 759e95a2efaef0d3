#include "blob/proxy/put_plan.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"

namespace moraine::blob {
namespace {

// The cost of one place, by what is known about it. The sums are compared, so the steps matter: a
// slow main (kSlowMainCost) is worse than any good handoff and better than a slow one; a place that
// was late for this blob is worse than any four that only may be slow.
constexpr std::uint32_t kInFlightCost = 1;
constexpr std::uint32_t kMainCost = 2;
constexpr std::uint32_t kHandoffCost = 3;
constexpr std::uint32_t kSlowMainCost = 4;
constexpr std::uint32_t kSlowInFlightCost = 5;
constexpr std::uint32_t kSlowCost = 6;
constexpr std::uint32_t kLateInFlightCost = 30;
constexpr std::uint32_t kLateCost = 31;
constexpr std::uint32_t kImpossible = 1000;

// A realm is suspect once this many of its disks were late for one blob.
constexpr int kSuspectRealmDisks = 2;
constexpr std::uint32_t kSuspectRealmCost = 6;

constexpr std::uint32_t kRealms = 3;  // Columns of a mirror-3-dc subgroup.

PartPlace at(std::uint32_t slot, std::uint32_t part) {
  return {static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(part)};
}

}  // namespace

std::uint32_t PutPlan::writes_max() const {
  return geometry_.parts() * (1 + geometry_.slots() - geometry_.parts()) * 2;
}

void PutPlan::seed(PartPlace at, std::uint64_t incarnation, Instant when) {
  incarnations_[at.slot] = incarnation;
  place(at) = {Part::kAcknowledged, when};
}

void PutPlan::meet(std::uint8_t slot, std::uint64_t incarnation) {
  if (incarnation == 0) return;
  const std::uint64_t before = std::exchange(incarnations_[slot], incarnation);
  if (before == 0 || before == incarnation) return;
  for (Place& held : places_[slot]) {
    if (held.state == Part::kAcknowledged) held.state = Part::kIdle;
  }
}

void PutPlan::acknowledged(PartPlace at, std::uint64_t incarnation, Instant when) {
  INVARIANT(place(at).state == Part::kInFlight, "part {} was not sent to slot {}", at.part,
            at.slot);
  --in_flight_;
  place(at).state = Part::kIdle;
  meet(at.slot, incarnation);
  place(at) = {Part::kAcknowledged, when};
}

void PutPlan::failed(PartPlace at, std::uint64_t incarnation, bool out_of_space) {
  INVARIANT(place(at).state == Part::kInFlight, "part {} was not sent to slot {}", at.part,
            at.slot);
  --in_flight_;
  place(at).state = Part::kIdle;
  meet(at.slot, incarnation);
  failed_ |= disk_bit(at.slot);
  if (out_of_space) out_of_space_ |= disk_bit(at.slot);
}

PartLayout PutPlan::layout() const {
  PartLayout all;
  for (std::uint32_t slot = 0; slot < geometry_.slots(); ++slot) {
    for (std::uint32_t part = 1; part <= geometry_.parts(); ++part) {
      if (place(at(slot, part)).state == Part::kAcknowledged) all.add(slot, part);
    }
  }
  return all;
}

PartLayout PutPlan::fresh_layout(Instant now) const {
  PartLayout fresh;
  for (std::uint32_t slot = 0; slot < geometry_.slots(); ++slot) {
    for (std::uint32_t part = 1; part <= geometry_.parts(); ++part) {
      const Place& held = place(at(slot, part));
      if (held.state != Part::kAcknowledged || now - held.at > ok_lifetime_) continue;
      fresh.add(slot, part);
    }
  }
  return fresh;
}

void PutPlan::drop_stale(Instant now) {
  for (auto& slot : places_) {
    for (Place& held : slot) {
      if (held.state == Part::kAcknowledged && now - held.at > ok_lifetime_) {
        held.state = Part::kIdle;
      }
    }
  }
}

PutPlan::State PutPlan::hopeless() const {
  const bool space_alone =
      !slots_tolerated(geometry_, failed_) && slots_tolerated(geometry_, failed_ & ~out_of_space_);
  return space_alone ? State::kOutOfSpace : State::kError;
}

PutPlan::Step PutPlan::next(Instant now) {
  Step step;
  if (confirmed(geometry_, fresh_layout(now))) {
    step.state = State::kOk;
    return step;
  }
  if (!slots_tolerated(geometry_, failed_)) {
    step.state = hopeless();
    return step;
  }
  if (confirmed(geometry_, layout())) drop_stale(now);
  for (const PartPlace to : wanted()) {
    if (place(to).state != Part::kIdle || writes_ == writes_max()) continue;
    place(to).state = Part::kInFlight;
    ++writes_;
    ++in_flight_;
    step.sends.push_back(to);
  }
  if (in_flight_ == 0) step.state = hopeless();
  return step;
}

DiskSet PutPlan::accelerate(std::span<const Duration> predicted) {
  DiskSet late = 0;
  std::uint32_t slowest = 0;
  for (std::uint32_t slot = 0; slot < geometry_.slots(); ++slot) {
    const bool waiting = std::ranges::any_of(
        places_[slot], [](const Place& held) { return held.state == Part::kInFlight; });
    if (!waiting || contains(accelerated_, slot)) continue;
    if (late == 0 || predicted[slot] > predicted[slowest]) slowest = slot;
    late |= disk_bit(slot);
  }
  if (late == 0) return 0;
  // A realm may fail together with a disk of another: mirror-3-dc cannot mark slots one by one.
  if (geometry_.species() != Species::kMirror3dc) late = disk_bit(slowest);
  slow_ |= late;
  accelerated_ |= late;
  return late;
}

std::uint32_t PutPlan::cost(PartPlace to) const {
  const Part state = place(to).state;
  if (state == Part::kAcknowledged) return 0;
  if (contains(failed_, to.slot)) return kImpossible;
  if (contains(accelerated_, to.slot)) {
    return state == Part::kInFlight ? kLateInFlightCost : kLateCost;
  }
  const bool slow = contains(slow_, to.slot);
  if (state == Part::kInFlight) return slow ? kSlowInFlightCost : kInFlightCost;
  if (slow) return kSlowCost;
  return geometry_.is_main(to.slot) ? kMainCost : kHandoffCost;
}

std::vector<PartPlace> PutPlan::wanted() const {
  switch (geometry_.species()) {
    case Species::kBlock42: return wanted_block42();
    case Species::kMirror3dc: return wanted_mirror3dc();
    case Species::kNone: break;
  }
  return {at(0, 1)};
}

// Only parts whose main has failed or is slow may use the two handoffs; both choices are tried.
std::vector<PartPlace> PutPlan::wanted_block42() const {
  std::vector<PartPlace> places;
  std::vector<std::uint32_t> homeless;
  for (std::uint32_t slot = 0; slot < geometry_.parts(); ++slot) {
    const std::uint32_t part = Geometry::main_part(slot);
    const bool good =
        !contains(failed_ | slow_, slot) || place(at(slot, part)).state == Part::kAcknowledged;
    if (good) {
      places.push_back(at(slot, part));
    } else {
      homeless.push_back(part);
    }
  }
  const auto cost_at_home = [&](std::uint32_t part) {
    if (contains(failed_, part - 1)) return kImpossible;
    return contains(accelerated_, part - 1) ? kLateInFlightCost : kSlowMainCost;
  };
  const std::uint32_t first = geometry_.parts();
  const std::size_t none = homeless.size();
  std::uint32_t best = kImpossible;
  std::size_t best_a = none;
  std::size_t best_b = none;
  for (std::size_t a = 0; a <= none; ++a) {
    for (std::size_t b = 0; b <= none; ++b) {
      if (a == b && a != none) continue;
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < none; ++i) {
        const std::uint32_t part = homeless[i];
        sum += i == a   ? cost(at(first, part))
               : i == b ? cost(at(first + 1, part))
                        : cost_at_home(part);
      }
      if (sum >= best) continue;
      best = sum;
      best_a = a;
      best_b = b;
    }
  }
  if (best >= kImpossible) return {};
  for (std::size_t i = 0; i < none; ++i) {
    const std::uint32_t slot = i == best_a ? first : i == best_b ? first + 1 : homeless[i] - 1;
    places.push_back(at(slot, homeless[i]));
  }
  return places;
}

// A replica in each realm, or two in each of two realms, whichever is cheaper.
std::vector<PartPlace> PutPlan::wanted_mirror3dc() const {
  std::array<std::array<std::uint32_t, kRealms>, kRealms> ranked;  // Slots by cost, per realm.
  std::array<std::uint32_t, kRealms> one;                          // Cost of one replica,
  std::array<std::uint32_t, kRealms> two;                          // and of two.
  const auto slot_cost = [&](std::uint32_t slot) { return cost(at(slot, slot % kRealms + 1)); };
  for (std::uint32_t realm = 0; realm < kRealms; ++realm) {
    auto& slots = ranked[realm];
    slots = {realm, realm + kRealms, realm + 2 * kRealms};
    std::ranges::sort(slots, {},
                      [&](std::uint32_t slot) { return std::pair(slot_cost(slot), slot); });
    one[realm] = slot_cost(slots[0]);
    two[realm] = one[realm] + slot_cost(slots[1]);
    const int late = static_cast<int>(std::ranges::count_if(
        slots, [&](std::uint32_t slot) { return contains(accelerated_, slot); }));
    if (one[realm] > 0 && late >= kSuspectRealmDisks) one[realm] += kSuspectRealmCost;
  }
  std::uint32_t best = one[0] + one[1] + one[2];
  std::uint32_t left_out = kRealms;  // The realm without a replica; kRealms: none.
  for (std::uint32_t realm = 0; realm < kRealms; ++realm) {
    const std::uint32_t sum = two[(realm + 1) % kRealms] + two[(realm + 2) % kRealms];
    if (sum >= best) continue;
    best = sum;
    left_out = realm;
  }
  if (best >= kImpossible) return {};
  std::vector<PartPlace> places;
  for (std::uint32_t realm = 0; realm < kRealms; ++realm) {
    if (realm == left_out) continue;
    places.push_back(at(ranked[realm][0], realm + 1));
    if (left_out != kRealms) places.push_back(at(ranked[realm][1], realm + 1));
  }
  return places;
}

}  // namespace moraine::blob
