#include "blob/proxy/data_plan.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "blob/proxy/scan_plan.h"
#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

enum class Fate : std::uint8_t { kHealthy, kFailed, kNotYet, kCorrupted, kLate };

// A blob's disks as a table: which slot has which part, and how each slot answers.
struct Bench {
  Geometry geometry;
  BlobId id;
  std::vector<Slice> parts;
  PartLayout layout;
  std::array<Fate, kSlotsMax> fates{};
  std::vector<ReadAsk> asked;  // All reads so far.

  Bench(Species species, const Slice& blob)
      : geometry(Geometry::standard(species)),
        id(test_id(blob.size(), 5)),
        parts(split(species, blob)) {
    for (std::uint32_t slot = 0; slot < geometry.parts(); ++slot) layout.add(slot, slot + 1);
  }
  void set(DiskSet slots, Fate fate) {
    for (std::uint32_t slot = 0; slot < geometry.slots(); ++slot) {
      fates[slot] = contains(slots, slot) ? fate : Fate::kHealthy;
    }
  }

  std::vector<PartAnswer> answers(const ReadAsk& ask) const {
    std::vector<PartAnswer> result;
    for (std::uint32_t part = 1; part <= geometry.parts(); ++part) {
      if (!layout.has(ask.slot, part) || (ask.part != 0 && ask.part != part)) continue;
      PartAnswer answer;
      answer.part = part;
      answer.status = fates[ask.slot] == Fate::kCorrupted ? Status::kCorrupted : Status::kOk;
      if (answer.status == Status::kOk) {
        const Slice& data = parts[part - 1];
        answer.data = data.sub(ask.offset, ask.size == 0 ? data.size() - ask.offset : ask.size);
      }
      result.push_back(answer);
    }
    if (result.empty()) {
      result.emplace_back();
      result.back().status = Status::kNoData;
    }
    if (fates[ask.slot] == Fate::kNotYet) {
      result.assign(1, PartAnswer{});
      result.back().status = Status::kNotYet;
    }
    return result;
  }

  // False: the plan waits for disks that never answer.
  bool play(ReadPlan& plan) {
    std::vector<ReadAsk> waiting;
    while (!plan.done()) {
      std::vector<ReadAsk> asks;
      plan.next(asks);
      if (plan.done()) break;
      asked.insert(asked.end(), asks.begin(), asks.end());
      waiting.insert(waiting.end(), asks.begin(), asks.end());
      bool moved = false;
      for (std::size_t i = 0; i < waiting.size() && !moved; ++i) {
        const ReadAsk ask = waiting[i];
        if (fates[ask.slot] == Fate::kLate) continue;
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        moved = true;
        if (fates[ask.slot] == Fate::kFailed) {
          plan.failed(ask);
        } else {
          plan.answered(ask, answers(ask), {});
        }
      }
      if (moved || plan.done()) continue;
      const std::size_t before = asked.size();
      for (const ReadAsk& ask : waiting) plan.late(ask.slot);
      if (plan.done()) break;
      asks.clear();
      plan.next(asks);
      asked.insert(asked.end(), asks.begin(), asks.end());
      waiting.insert(waiting.end(), asks.begin(), asks.end());
      if (asked.size() == before && !plan.done()) return false;
    }
    return true;
  }
  DataPlan read(std::uint32_t shift, std::uint32_t size, const ReadPreference& preference = {}) {
    asked.clear();
    return DataPlan(geometry, id, shift, size, preference);
  }
};

TEST(DataPlan, ReadsEveryRangeOfEverySmallBlobWithAnyTwoSlotsBad) {
  for (const std::uint32_t size : {1u, 31u, 32u, 33u, 64u, 100u}) {
    const Slice blob = test_bytes(size);
    for (const Fate fate : {Fate::kFailed, Fate::kNotYet, Fate::kCorrupted, Fate::kLate}) {
      Bench bench(Species::kBlock42, blob);
      for (std::uint32_t a = 0; a < 8; ++a) {
        for (std::uint32_t b = 0; b <= a; ++b) {
          bench.set(disk_bit(a) | disk_bit(b), fate);
          for (std::uint32_t shift = 0; shift < size; ++shift) {
            for (std::uint32_t count = 1; count <= size - shift; count += 1 + count / 8) {
              DataPlan plan = bench.read(shift, count);
              ASSERT_TRUE(bench.play(plan));
              ASSERT_EQ(plan.status(), Status::kOk) << size << " " << shift << " " << count;
              ASSERT_TRUE(equal(plan.data(), blob.sub(shift, count)));
            }
          }
        }
      }
    }
  }
}

TEST(DataPlan, ReadsRangesAcrossPartBoundsWithAnyTwoSlotsBad) {
  for (const std::uint32_t size : {127u, 128u, 129u, 1000u, 65536u}) {
    const Slice blob = test_bytes(size);
    Bench bench(Species::kBlock42, blob);
    std::vector<std::uint32_t> edges{0, 1, size / 2, size - 1};
    for (std::uint32_t part = 1; part <= 4; ++part) {
      const std::uint32_t offset = data_slice(size, part).offset;
      for (const std::uint32_t edge : {offset, offset + 1, offset + 31, offset + 33}) {
        if (edge < size) edges.push_back(edge);
      }
      if (offset > 0) edges.push_back(offset - 1);
    }
    for (std::uint32_t a = 0; a < 8; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        bench.set(disk_bit(a) | disk_bit(b), Fate::kFailed);
        for (const std::uint32_t from : edges) {
          for (const std::uint32_t to : edges) {
            if (from > to) continue;
            DataPlan plan = bench.read(from, to - from + 1);
            ASSERT_TRUE(bench.play(plan));
            ASSERT_EQ(plan.status(), Status::kOk);
            ASSERT_TRUE(equal(plan.data(), blob.sub(from, to - from + 1)));
          }
        }
      }
    }
  }
}

TEST(DataPlan, AHealthyBlockReadAsksOnlyTheColumnsOfTheRange) {
  Bench bench(Species::kBlock42, test_bytes(1000));  // Slices of 256, 256, 256, 232.
  DataPlan plan = bench.read(300, 50);
  ASSERT_TRUE(bench.play(plan));
  ASSERT_EQ(bench.asked.size(), 1u);
  EXPECT_EQ(bench.asked[0].slot, 1);
  EXPECT_EQ(bench.asked[0].offset, 32u);
  EXPECT_EQ(bench.asked[0].size, 64u);
}

TEST(DataPlan, AMissingPartIsComputedFromTheSameColumnsOfFourOthers) {
  Bench bench(Species::kBlock42, test_bytes(1000));
  bench.set(disk_bit(1), Fate::kFailed);
  DataPlan plan = bench.read(300, 50);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_EQ(plan.status(), Status::kOk);
  ASSERT_EQ(bench.asked.size(), 5u);
  for (std::size_t i = 1; i < bench.asked.size(); ++i) {
    EXPECT_EQ(bench.asked[i].offset, 32u);
    EXPECT_EQ(bench.asked[i].size, 64u);
    EXPECT_LT(bench.asked[i].slot, 6);
  }
}

TEST(DataPlan, PartsOnHandoffsAreFound) {
  const Slice blob = test_bytes(500);
  Bench bench(Species::kBlock42, blob);
  bench.layout.parts_at[0] = bench.layout.parts_at[1] = 0;
  bench.layout.add(6, 1);
  bench.layout.add(7, 2);
  bench.set(disk_bit(4) | disk_bit(5), Fate::kFailed);
  DataPlan plan = bench.read(0, 500);
  ASSERT_TRUE(bench.play(plan));
  ASSERT_EQ(plan.status(), Status::kOk);
  EXPECT_TRUE(equal(plan.data(), blob));
}

TEST(DataPlan, AnAvoidedDiskIsAskedLast) {
  Bench bench(Species::kBlock42, test_bytes(1000));
  ReadPreference preference;
  preference.avoid = disk_bit(bench.geometry.subgroup(bench.id).order[1]);
  DataPlan plan = bench.read(300, 50, preference);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_EQ(plan.status(), Status::kOk);
  for (const ReadAsk& ask : bench.asked) EXPECT_NE(ask.slot, 1);
}

TEST(DataPlan, AMirrorReadAsksOneDiskAndAnotherAfterAnError) {
  Bench bench(Species::kMirror3dc, test_bytes(100));
  DataPlan plan = bench.read(10, 20);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_EQ(bench.asked.size(), 1u);
  EXPECT_EQ(plan.data().size(), 20u);

  bench.set(disk_bit(bench.asked[0].slot), Fate::kFailed);
  DataPlan second = bench.read(10, 20);
  ASSERT_TRUE(bench.play(second));
  EXPECT_EQ(second.status(), Status::kOk);
  EXPECT_EQ(bench.asked.size(), 2u);
}

TEST(DataPlan, NoDataOfBlock42IsReturnedWithUpToTwoSlotsUnknownOnly) {
  for (const Fate fate : {Fate::kFailed, Fate::kNotYet, Fate::kLate}) {
    for (DiskSet bad = 0; bad < disk_bit(8); ++bad) {
      Bench bench(Species::kBlock42, test_bytes(100));
      bench.layout = {};
      bench.set(bad, fate);
      DataPlan plan = bench.read(0, 100);
      const bool ended = bench.play(plan);
      if (std::popcount(bad) <= 2) {
        ASSERT_TRUE(ended);
        EXPECT_EQ(plan.status(), Status::kNoData) << bad;
      } else if (fate == Fate::kLate) {
        EXPECT_FALSE(ended) << "silence proves nothing: " << bad;
      } else {
        ASSERT_TRUE(ended);
        EXPECT_EQ(plan.status(), Status::kError) << bad;
      }
    }
  }
}

TEST(DataPlan, AConfirmedBlobIsNeverNoData) {
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    Bench bench(species, test_bytes(100));
    const std::uint32_t slots = bench.geometry.slots();
    for (DiskSet bad = 0; bad < disk_bit(slots); ++bad) {
      bench.set(bad, bad % 3 == 0 ? Fate::kCorrupted : Fate::kFailed);
      DataPlan plan = bench.read(0, 100);
      ASSERT_TRUE(bench.play(plan));
      EXPECT_NE(plan.status(), Status::kNoData) << bad;
      if (slots_tolerated(bench.geometry, bad)) {
        EXPECT_EQ(plan.status(), Status::kOk) << bad;
      }
    }
  }
}

TEST(DataPlan, BrokenPartsAreReported) {
  Bench bench(Species::kBlock42, test_bytes(1000));
  bench.set(disk_bit(2), Fate::kCorrupted);
  DataPlan plan = bench.read(0, 1000);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_EQ(plan.status(), Status::kOk);
  EXPECT_TRUE(plan.broken().has(2, 3));
  EXPECT_EQ(plan.broken().slots(), disk_bit(2));
}

TEST(DataPlan, AnAnswerOfTheWrongSizeCountsAsAFailure) {
  const Slice blob = test_bytes(1000);
  Bench bench(Species::kBlock42, blob);
  DataPlan plan = bench.read(0, 100);
  std::vector<ReadAsk> asks;
  plan.next(asks);
  ASSERT_EQ(asks.size(), 1u);
  PartAnswer answer;
  answer.status = Status::kOk;
  answer.part = 1;
  answer.data = test_bytes(3);
  plan.answered(asks[0], std::span(&answer, 1), {});
  ASSERT_FALSE(plan.done());
  bench.set(disk_bit(0), Fate::kFailed);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_TRUE(equal(plan.data(), blob.sub(0, 100)));
}

TEST(ScanPlan, DistinguishesConfirmedRestorableAbsentAndUnknown) {
  using Outcome = ScanPlan::Outcome;
  for (std::uint32_t parts = 0; parts <= 6; ++parts) {
    for (std::uint32_t down = 0; down <= 3; ++down) {
      Bench bench(Species::kBlock42, test_bytes(100));
      bench.layout = {};
      for (std::uint32_t part = 1; part <= parts; ++part) bench.layout.add(part - 1, part);
      // The slots that are down, if any, hold nothing.
      DiskSet bad = 0;
      for (std::uint32_t i = 0; i < down; ++i) bad |= disk_bit(7 - i);
      bench.set(bad, Fate::kFailed);
      ScanPlan plan(bench.geometry, bench.id, ScanPlan::Goal::kConfirmed);
      ASSERT_TRUE(bench.play(plan));
      const std::uint32_t seen = std::min(parts, 8 - down);
      Outcome expected = Outcome::kUnknown;
      if (seen == 6) {
        expected = Outcome::kEnough;
      } else if (seen >= 4) {
        expected = Outcome::kRestorable;
      } else if (down <= 2 && seen + down < 6) {
        expected = Outcome::kAbsent;
      }
      EXPECT_EQ(plan.outcome(), expected) << parts << " parts, " << down << " down";
    }
  }
}

TEST(ScanPlan, LateDisksDoNotHoldARestoreUp) {
  Bench bench(Species::kBlock42, test_bytes(100));
  bench.set(disk_bit(0), Fate::kLate);
  ScanPlan plan(bench.geometry, bench.id, ScanPlan::Goal::kConfirmed);
  ASSERT_TRUE(bench.play(plan));
  EXPECT_EQ(plan.outcome(), ScanPlan::Outcome::kRestorable);
  EXPECT_EQ(plan.seen().size(), 5u);
  EXPECT_TRUE(contains(plan.silent(), 0));
}

}  // namespace
}  // namespace moraine::blob
