#include "blob/proxy/put_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "io/random.h"

namespace moraine::blob {
namespace {

using State = PutPlan::State;

constexpr Duration kLifetime = 12s;
const Instant kNow{1s};

PutPlan make_plan(Species species, DiskSet slow = 0) {
  return PutPlan(Geometry::standard(species), slow, kLifetime);
}

std::vector<std::uint32_t> slots_of(const std::vector<PartPlace>& places) {
  std::vector<std::uint32_t> slots;
  for (const PartPlace place : places) slots.push_back(place.slot);
  std::ranges::sort(slots);
  return slots;
}

struct Played {
  State state;
  DiskSet failed = 0;  // Slots that refused a write.
  PartLayout layout;
  std::uint32_t writes = 0;
};

// Runs a put where the slots in `bad` refuse, and replies come in an order drawn from `seed`.
Played play(PutPlan plan, DiskSet bad, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<PartPlace> flying;
  Played played;
  for (;;) {
    const PutPlan::Step step = plan.next(kNow);
    if (step.state != State::kWaiting) {
      played.state = step.state;
      played.layout = plan.layout();
      played.writes = plan.writes();
      return played;
    }
    flying.insert(flying.end(), step.sends.begin(), step.sends.end());
    const std::size_t at = random.below(flying.size());
    const PartPlace place = flying[at];
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
    if (contains(bad, place.slot)) {
      plan.failed(place, 0, false);
      played.failed |= disk_bit(place.slot);
    } else {
      plan.acknowledged(place, 1, kNow);
    }
  }
}

void check_all_failures(Species species, std::uint64_t orders) {
  const Geometry geometry = Geometry::standard(species);
  for (DiskSet bad = 0; bad < disk_bit(geometry.slots()); ++bad) {
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
      const Played played = play(make_plan(species), bad, seed);
      if (slots_tolerated(geometry, bad)) {
        ASSERT_EQ(played.state, State::kOk) << "bad " << bad << " seed " << seed;
      }
      if (played.state == State::kOk) {
        ASSERT_TRUE(confirmed(geometry, played.layout));
      } else {
        ASSERT_EQ(played.state, State::kError);
        ASSERT_FALSE(slots_tolerated(geometry, played.failed)) << "gave up too early, bad " << bad;
      }
    }
  }
}

TEST(PutPlan, EveryToleratedSetOfErrorsInEveryOrderEndsOkOnBlock42) {
  check_all_failures(Species::kBlock42, 40);
}

TEST(PutPlan, EveryToleratedSetOfErrorsInEveryOrderEndsOkOnMirror3dc) {
  check_all_failures(Species::kMirror3dc, 20);
}

TEST(PutPlan, AnOkOfBlock42SurvivesTheLossOfAnyTwoDisks) {
  const Geometry geometry = Geometry::standard(Species::kBlock42);
  for (DiskSet bad = 0; bad < disk_bit(geometry.slots()); ++bad) {
    if (std::popcount(bad) > 2) continue;
    const Played played = play(make_plan(Species::kBlock42), bad, bad);
    for (std::uint32_t a = 0; a < geometry.slots(); ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        PartLayout left = played.layout;
        left.parts_at[a] = left.parts_at[b] = 0;
        EXPECT_TRUE(restorable(geometry, left)) << "bad " << bad << " lost " << a << ", " << b;
      }
    }
  }
}

TEST(PutPlan, SendsSixMainsFirstOnBlock42AndOneReplicaPerRealmOnMirror3dc) {
  EXPECT_EQ(slots_of(make_plan(Species::kBlock42).next(kNow).sends),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(slots_of(make_plan(Species::kMirror3dc).next(kNow).sends),
            (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(slots_of(make_plan(Species::kNone).next(kNow).sends), (std::vector<std::uint32_t>{0}));
}

TEST(PutPlan, SlowMainsAreReplacedByHandoffs) {
  EXPECT_EQ(slots_of(make_plan(Species::kBlock42, disk_bit(1) | disk_bit(4)).next(kNow).sends),
            (std::vector<std::uint32_t>{0, 2, 3, 5, 6, 7}));
  EXPECT_EQ(slots_of(make_plan(Species::kMirror3dc, disk_bit(1)).next(kNow).sends),
            (std::vector<std::uint32_t>{0, 2, 4}));
}

TEST(PutPlan, ASlowMainIsUsedWhenTheHandoffFails) {
  PutPlan plan = make_plan(Species::kBlock42, disk_bit(0) | disk_bit(7));
  std::vector<PartPlace> sent = plan.next(kNow).sends;
  EXPECT_EQ(slots_of(sent), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
  plan.failed({6, 1}, 0, false);
  sent = plan.next(kNow).sends;
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], (PartPlace{0, 1}));
}

TEST(PutPlan, AWhollyFailedRealmMakesTwoReplicasInEachOther) {
  PutPlan plan = make_plan(Species::kMirror3dc);
  plan.next(kNow);
  plan.failed({1, 2}, 0, false);
  EXPECT_EQ(slots_of(plan.next(kNow).sends), (std::vector<std::uint32_t>{4}));
  plan.failed({4, 2}, 0, false);
  EXPECT_EQ(slots_of(plan.next(kNow).sends), (std::vector<std::uint32_t>{7}));
  plan.failed({7, 2}, 0, false);
  EXPECT_EQ(slots_of(plan.next(kNow).sends), (std::vector<std::uint32_t>{3, 5}));
}

TEST(PutPlan, TwoPartsOnOneHandoffDoNotMakeSix) {
  PutPlan plan = make_plan(Species::kBlock42);
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    plan.seed({static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(slot + 1)}, 1, kNow);
  }
  plan.seed({6, 5}, 1, kNow);
  plan.seed({6, 6}, 1, kNow);
  const PutPlan::Step step = plan.next(kNow);
  EXPECT_EQ(step.state, State::kWaiting);
  EXPECT_FALSE(step.sends.empty());
}

TEST(PutPlan, APartThatItsMainRefusesGoesToAHandoff) {
  PutPlan plan = make_plan(Species::kBlock42);
  plan.next(kNow);
  for (std::uint8_t slot = 0; slot < 5; ++slot) {
    plan.acknowledged({slot, static_cast<std::uint8_t>(slot + 1)}, 10, kNow);
  }
  plan.failed({5, 6}, 10, false);
  ASSERT_EQ(plan.next(kNow).sends, (std::vector<PartPlace>{{6, 6}}));
  plan.acknowledged({6, 6}, 10, kNow);
  EXPECT_EQ(plan.next(kNow).state, State::kOk);
}

TEST(PutPlan, AWipedHandoffLosesItsEarlierPart) {
  PutPlan plan = make_plan(Species::kBlock42, disk_bit(0));
  plan.next(kNow);  // Part 1 goes to handoff 6.
  plan.acknowledged({6, 1}, 10, kNow);
  plan.failed({1, 2}, 0, false);
  ASSERT_EQ(plan.next(kNow).sends, (std::vector<PartPlace>{{7, 2}}));
  plan.failed({7, 2}, 0, false);  // Now part 2 needs handoff 6, and part 1 its slow main.
  EXPECT_EQ(slots_of(plan.next(kNow).sends), (std::vector<std::uint32_t>{0, 6}));
  plan.acknowledged({6, 2}, 11, kNow);
  for (std::uint8_t slot = 2; slot < 6; ++slot) {
    plan.acknowledged({slot, static_cast<std::uint8_t>(slot + 1)}, 10, kNow);
  }
  EXPECT_EQ(plan.layout().parts_at[6], 0b10) << "part 1 was acknowledged before the wipe";
  EXPECT_EQ(plan.next(kNow).state, State::kWaiting);
  plan.acknowledged({0, 1}, 10, kNow);
  EXPECT_EQ(plan.next(kNow).state, State::kOk);
}

TEST(PutPlan, AcknowledgementsThatGrewOldAreRefreshed) {
  PutPlan plan = make_plan(Species::kBlock42);
  plan.next(kNow);
  for (std::uint8_t slot = 0; slot < 5; ++slot) {
    plan.acknowledged({slot, static_cast<std::uint8_t>(slot + 1)}, 10, kNow);
  }
  const Instant later = kNow + kLifetime + 1s;
  EXPECT_TRUE(plan.next(later).sends.empty()) << "only at the decision";
  plan.acknowledged({5, 6}, 10, later);
  const PutPlan::Step step = plan.next(later);
  EXPECT_EQ(step.state, State::kWaiting);
  EXPECT_EQ(slots_of(step.sends), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  for (const PartPlace place : step.sends) plan.acknowledged(place, 10, later);
  EXPECT_EQ(plan.next(later).state, State::kOk);
}

TEST(PutPlan, PartWritesAreCapped) {
  PutPlan plan = make_plan(Species::kBlock42);
  Instant at = kNow;
  State state = State::kWaiting;
  // Every answer is stale when the next one comes.
  while (state == State::kWaiting) {
    const PutPlan::Step step = plan.next(at);
    state = step.state;
    for (const PartPlace place : step.sends) {
      at = at + kLifetime + 1s;
      plan.acknowledged(place, 10, at);
    }
  }
  EXPECT_EQ(state, State::kError);
  EXPECT_LE(plan.writes(), plan.writes_max());
  EXPECT_EQ(plan.writes_max(), 36u);
}

TEST(PutPlan, OutOfSpaceIsTheAnswerWhenOnlySpaceIsMissing) {
  PutPlan plan = make_plan(Species::kBlock42);
  plan.next(kNow);
  plan.failed({0, 1}, 1, true);
  plan.failed({1, 2}, 1, true);
  plan.failed({2, 3}, 1, false);
  EXPECT_EQ(plan.next(kNow).state, State::kOutOfSpace);

  PutPlan broken = make_plan(Species::kBlock42);
  broken.next(kNow);
  for (std::uint8_t slot = 0; slot < 3; ++slot) {
    broken.failed({slot, static_cast<std::uint8_t>(slot + 1)}, 1, false);
  }
  broken.failed({3, 4}, 1, true);
  EXPECT_EQ(broken.next(kNow).state, State::kError) << "without the full disk it fails as well";
}

TEST(PutPlan, AcceleratesTheSlowestPartAndEachSlotOnce) {
  PutPlan plan = make_plan(Species::kBlock42);
  plan.next(kNow);
  std::array<Duration, kSlotsMax> predicted{};
  predicted[3] = 5ms;
  EXPECT_EQ(plan.accelerate(predicted), disk_bit(3));
  ASSERT_EQ(plan.next(kNow).sends, (std::vector<PartPlace>{{6, 4}}));
  for (const std::uint8_t slot : {0, 1, 2, 4}) {
    plan.acknowledged({slot, static_cast<std::uint8_t>(slot + 1)}, 1, kNow);
  }
  predicted[6] = 1s;
  EXPECT_EQ(plan.accelerate(predicted), disk_bit(6)) << "the handoff itself is late";
  ASSERT_EQ(plan.next(kNow).sends, (std::vector<PartPlace>{{7, 4}}));
  EXPECT_EQ(plan.accelerate(predicted), disk_bit(5));
  EXPECT_EQ(plan.accelerate(predicted), disk_bit(7));
  EXPECT_EQ(plan.accelerate(predicted), 0u);
  plan.acknowledged({7, 4}, 1, kNow);
  plan.acknowledged({5, 6}, 1, kNow);
  EXPECT_EQ(plan.next(kNow).state, State::kOk);
}

// Disks of `silent` never reply, those of `broken` reply with errors; others may be marked as slow,
// rightly or not.
void expect_ok(Species species, DiskSet silent, DiskSet broken, DiskSet slow) {
  PutPlan plan(Geometry::standard(species), slow, kLifetime);
  PutPlan::Step step;
  std::array<Duration, kSlotsMax> predicted{};
  for (std::uint32_t round = 0; round <= kSlotsMax; ++round) {
    do {
      step = plan.next(kNow);
      for (const PartPlace place : step.sends) {
        if (contains(silent, place.slot)) continue;
        if (contains(broken, place.slot)) {
          plan.failed(place, 1, false);
        } else {
          plan.acknowledged(place, 1, kNow);
        }
      }
    } while (!step.sends.empty());
    if (step.state == State::kOk) break;
    plan.accelerate(predicted);
  }
  EXPECT_EQ(step.state, State::kOk)
      << to_string(species) << " silent " << silent << " broken " << broken << " slow " << slow;
}

TEST(PutPlan, EveryToleratedSetOfSilentAndBrokenDisksEndsOk) {
  SeededRandom random(7);
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    const Geometry geometry = Geometry::standard(species);
    const DiskSet all = disk_bit(geometry.slots()) - 1;
    for (DiskSet bad = 0; bad <= all; ++bad) {
      if (!slots_tolerated(geometry, bad)) continue;
      for (int round = 0; round < 300; ++round) {
        const DiskSet silent = bad & static_cast<DiskSet>(random.next());
        expect_ok(species, silent, bad & ~silent, static_cast<DiskSet>(random.next()) & all);
      }
    }
  }
}

}  // namespace
}  // namespace moraine::blob
