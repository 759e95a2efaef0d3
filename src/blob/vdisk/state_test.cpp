#include "blob/vdisk/state.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::blob {
namespace {

constexpr TabletId kTablet{11};

MetaState meta_of(Species species, std::uint32_t order) {
  MetaState meta;
  GroupConfig config;
  config.geometry = Geometry::standard(species);
  for (std::uint32_t i = 0; i < config.geometry.disks(); ++i) {
    config.disks.push_back({NodeId{i + 1}, 1, 0});
  }
  meta.config = config;
  meta.order = order;
  meta.state = LocalState::kFinal;
  meta.guid = 1;
  return meta;
}

// A state of one disk of a block-4-2 group, and blobs whose slot there is known.
class StateTest : public testing::Test {
 protected:
  StateTest() : segments_(64, 64u << 20), state_(segments_) {
    state_.apply_meta(meta_of(Species::kBlock42, 3));
  }
  BlobId blob_with_slot(std::uint32_t slot, Step step = 1) {
    for (std::uint32_t cookie = 0;; ++cookie) {
      const BlobId id(kTablet, 1, step, 0, 128, cookie);
      if (state_.own_slot(id) == static_cast<int>(slot)) return id;
    }
  }
  void put(const BlobId& id, std::uint32_t part) {
    const auto slot = static_cast<std::uint32_t>(state_.own_slot(id));
    const Location location{1, next_ += 4096, 32, 5};
    state_.apply_put({id.with_part(part), {present_bit(state_.geometry(), slot, part)}, ++lsn_},
                     location, false);
  }
  void apply(std::vector<Fact> facts) { state_.apply_facts({++lsn_, std::move(facts)}); }
  void pass_barrier(GenStep at) {
    BarrierFact fact;
    fact.tablet = kTablet;
    fact.record_generation = 1;
    fact.counter = ++counter_;
    fact.barrier = at;
    fact.seen = 0xff;
    apply({fact});
    while (state_.collect_some(1)) {
    }
  }

  SegmentTable segments_;
  VDiskState state_;
  std::uint32_t next_ = 0;
  std::uint64_t lsn_ = 0;
  std::uint32_t counter_ = 0;
};

TEST_F(StateTest, AMainMissesItsPartOfEveryKnownBlob) {
  const BlobId id = blob_with_slot(2);
  apply({BlobFact{id, {present_bit(state_.geometry(), 0, 1)}}});
  EXPECT_TRUE(state_.missing().contains(id));
  const auto missing = state_.missing_parts(id, *state_.index().find(id));
  EXPECT_EQ(missing.parts, 0b100);
  EXPECT_EQ(missing.claimed, 0) << "it never acknowledged the part";
  put(id, 3);
  EXPECT_TRUE(state_.missing().empty());
}

TEST_F(StateTest, EveryLocalPartIsVisitedPageByPageWithTheFurtherOnesOfAHandoff) {
  for (Step step = 1; step <= 20; ++step) put(blob_with_slot(2, step), 3);
  const BlobId handoff = blob_with_slot(7, 30);
  for (const std::uint32_t part : {1, 2, 4}) put(handoff, part);
  for (const std::size_t step : {1, 3, 100}) {
    LiveMap map({1}, segments_.segment_bytes());
    std::optional<BlobId> after;
    while (state_.index().visit_live(after, step, map)) {
    }
    EXPECT_EQ(map.bytes(1), segments_[1].live) << step;
    EXPECT_EQ(map.gaps(1, 4096).front().size, 4096u) << "before the first part";
    EXPECT_EQ(map.gaps(1, 4096).size(), 2u);
  }
}

TEST_F(StateTest, AHandoffMissesOnlyWhatItOnceTook) {
  const BlobId id = blob_with_slot(7);
  apply({BlobFact{id, {present_bit(state_.geometry(), 0, 1)}}});
  EXPECT_TRUE(state_.missing().empty());
  apply({BlobFact{id, {present_bit(state_.geometry(), 7, 4)}}});
  EXPECT_EQ(state_.missing_parts(id, *state_.index().find(id)).claimed, 0b1000);
  apply({BlobFact{id, {moved_bit(state_.geometry(), 7, 4)}}});
  EXPECT_TRUE(state_.missing().empty()) << "it moved the part to its main";
}

TEST_F(StateTest, AHandoffMayHoldSeveralPartsAndDropsThemOneByOne) {
  const BlobId id = blob_with_slot(6);
  put(id, 2);
  put(id, 5);
  EXPECT_EQ(state_.index().local_parts(id), 0b10010);
  EXPECT_TRUE(state_.handoffs().contains(id));
  EXPECT_EQ(segments_.live_bytes(), 64u);
  state_.apply_drop({id.with_part(2), {moved_bit(state_.geometry(), 6, 2)}, ++lsn_});
  EXPECT_EQ(state_.index().local_parts(id), 0b10000);
  state_.apply_drop({id.with_part(5), {moved_bit(state_.geometry(), 6, 5)}, ++lsn_});
  EXPECT_TRUE(state_.handoffs().empty());
  EXPECT_EQ(segments_.live_bytes(), 0u);
}

TEST_F(StateTest, BlobsUnderTheBarrierAreCollectedAndKeptOnesStay) {
  const BlobId gone = blob_with_slot(0, 1);
  const BlobId kept = blob_with_slot(0, 2);
  const BlobId above = blob_with_slot(0, 9);
  for (const BlobId& id : {gone, kept, above}) put(id, 1);
  apply({BlobFact{kept, {kKeepBit}}});
  pass_barrier({1, 5});
  EXPECT_FALSE(state_.index().find(gone));
  EXPECT_EQ(state_.index().local_parts(kept), 1);
  EXPECT_EQ(state_.index().local_parts(above), 1);
  EXPECT_EQ(segments_.live_bytes(), 64u);
}

TEST_F(StateTest, ADoNotKeepMarkStaysUntilEveryNeighbourHasIt) {
  const BlobId id = blob_with_slot(0, 1);
  put(id, 1);
  apply({BlobFact{id, {kKeepBit}}});
  pass_barrier({1, 5});
  apply({BlobFact{id, {kDoNotKeepBit}}});
  const std::uint64_t marked = lsn_;
  while (state_.collect_some(1)) {
  }
  EXPECT_EQ(state_.index().local_parts(id), 0) << "the data is gone";
  ASSERT_TRUE(state_.index().find(id)) << "the mark is not";
  // A disk that was down meanwhile still has Keep: the mark wins.
  EXPECT_TRUE(state_.news({BlobFact{id, {kKeepBit}}}).empty());
  state_.forget_tombstones(marked - 1);
  EXPECT_TRUE(state_.index().find(id));
  state_.forget_tombstones(marked);
  EXPECT_FALSE(state_.index().find(id));
}

TEST_F(StateTest, AMarkAboveTheBarrierWaitsForIt) {
  const BlobId id = blob_with_slot(0, 7);
  put(id, 1);
  apply({BlobFact{id, {kKeepBit | kDoNotKeepBit}}});
  state_.forget_tombstones(lsn_);
  EXPECT_EQ(state_.index().local_parts(id), 1);
  pass_barrier({1, 9});
  EXPECT_EQ(state_.index().local_parts(id), 0);
  state_.forget_tombstones(lsn_ + 1);
  EXPECT_FALSE(state_.index().find(id));
}

TEST_F(StateTest, NewsLeavesOutWhatIsKnownAndWhatIsGarbage) {
  const BlobId id = blob_with_slot(0, 1);
  put(id, 1);
  EXPECT_TRUE(state_.news({BlobFact{id, {present_bit(state_.geometry(), 0, 1)}}}).empty());
  EXPECT_EQ(state_.news({BlobFact{id, {kKeepBit}}}).size(), 1u);
  pass_barrier({1, 5});
  EXPECT_TRUE(state_.news({BlobFact{id, {present_bit(state_.geometry(), 1, 2)}}}).empty());
  EXPECT_TRUE(state_.news({BlockFact{kTablet, 0}}).empty());
  apply({BlockFact{kTablet, 4}});
  EXPECT_TRUE(state_.news({BlockFact{kTablet, 4}}).empty());
  EXPECT_EQ(state_.news({BlockFact{kTablet, 5}}).size(), 1u);
}

TEST_F(StateTest, APutThatReplacesCorruptedDataClearsTheMark) {
  const BlobId id = blob_with_slot(0);
  put(id, 1);
  state_.mark_corrupted(id.with_part(1));
  EXPECT_TRUE(state_.missing().contains(id));
  put(id, 1);
  EXPECT_TRUE(state_.missing().empty());
  EXPECT_EQ(segments_.live_bytes(), 32u);
}

TEST_F(StateTest, CheckpointPagesGiveTheSameStateBack) {
  SeededRandom random(3);
  for (Step step = 1; step < 9000; ++step) {
    const BlobId id(kTablet, 1 + step % 3, step, 0, 128, step);
    const int slot = state_.own_slot(id);
    const auto own = static_cast<std::uint32_t>(slot);
    put(id, own < 6 ? own + 1 : 1 + static_cast<std::uint32_t>(random.below(6)));
    if (random.one_in(5)) apply({BlobFact{id, {kKeepBit}}});
    if (random.one_in(9)) apply({BlockFact{TabletId{step}, step}});
  }
  pass_barrier({1, 500});
  SegmentTable other_segments(64, 64u << 20);
  VDiskState other(other_segments);
  VDiskState::Cursor cursor;
  int pages = 0;
  while (const auto page = state_.checkpoint_page(cursor)) {
    ++pages;
    const auto restored = other.restore_page(*page);
    ASSERT_TRUE(restored) << restored.error().message();
  }
  EXPECT_GT(pages, 3);
  EXPECT_EQ(other.index().size(), state_.index().size());
  EXPECT_EQ(other_segments.live_bytes(), segments_.live_bytes());
  EXPECT_EQ(other.blocks(), state_.blocks());
  EXPECT_EQ(other.last_lsn(), state_.last_lsn());
  EXPECT_EQ(other.handoffs(), state_.handoffs());
  for (const auto& [id, entry] : state_.index().entries()) {
    ASSERT_TRUE(other.index().find(id));
    EXPECT_EQ(other.index().find(id)->ingress, entry.ingress);
    EXPECT_EQ(other.index().local_parts(id), state_.index().local_parts(id));
  }
}

TEST_F(StateTest, ClaimsAfterALossAreTheDisksOwnAndSurviveACheckpoint) {
  const BlobId id = blob_with_slot(2);
  const Ingress reported{present_bit(state_.geometry(), 0, 1)};
  apply({BlobFact{id, reported}});
  const std::uint64_t before = state_.last_lsn();
  apply(state_.claims_after_loss());
  EXPECT_EQ(state_.missing_parts(id, *state_.index().find(id)).claimed, 0b100);
  EXPECT_EQ(state_.index().find(id)->ingress, reported)
      << "no other disk counts it as acknowledged";
  const auto all = [](const IndexFact&) { return true; };
  EXPECT_TRUE(state_.sync_log().read(before, 100, all).facts.empty());

  SegmentTable segments(64, 64u << 20);
  VDiskState restored(segments);
  VDiskState::Cursor cursor;
  while (auto page = state_.checkpoint_page(cursor)) ASSERT_TRUE(restored.restore_page(*page));
  EXPECT_EQ(restored.missing_parts(id, *restored.index().find(id)).claimed, 0b100);
  state_.apply_not_mine(id);
  EXPECT_EQ(state_.missing_parts(id, *state_.index().find(id)).claimed, 0);
}

TEST_F(StateTest, AHandoffClaimsOnlyPartsThatTheirMainsHaveNot) {
  const BlobId id = blob_with_slot(6);
  apply({BlobFact{id, {present_bit(state_.geometry(), 0, 1)}}});
  apply(state_.claims_after_loss());
  EXPECT_EQ(state_.missing_parts(id, *state_.index().find(id)).claimed, 0b111110);
}

TEST_F(StateTest, AResetDropsEverythingAndReleasesTheSpace) {
  for (Step step = 1; step <= 4; ++step) put(blob_with_slot(2, step), 3);
  const BlobId two = blob_with_slot(6, 9);
  put(two, 1);
  put(two, 2);
  apply({BlockFact{kTablet, 5}});
  pass_barrier({1, 1});
  ASSERT_GT(segments_.live_bytes(), 0u);
  const std::uint64_t lsn = state_.last_lsn();
  MetaState fresh = meta_of(Species::kBlock42, 5);
  fresh.state = LocalState::kEmpty;
  state_.apply_reset(fresh);
  EXPECT_EQ(segments_.live_bytes(), 0u);
  EXPECT_TRUE(state_.index().entries().empty());
  EXPECT_EQ(state_.blocked(kTablet), 0u);
  EXPECT_TRUE(state_.barriers().all().empty());
  EXPECT_TRUE(state_.missing().empty());
  EXPECT_EQ(state_.order(), 5u);
  EXPECT_EQ(state_.last_lsn(), lsn);
  put(blob_with_slot(2, 7), 3);
  EXPECT_EQ(state_.index().size(), 1u);
}

TEST(SyncLog, GivesWholeRecordsInOrderAndSaysWhenItCannotReachBack) {
  SyncLog log;
  log.start_after(10);
  for (std::uint64_t lsn = 11; lsn <= 20; ++lsn) {
    log.push(lsn, BlockFact{TabletId{lsn}, 1});
    log.push(lsn, BlockFact{TabletId{lsn}, 2});
  }
  EXPECT_FALSE(log.reaches(9));
  EXPECT_TRUE(log.reaches(10));
  EXPECT_FALSE(log.reaches(21));
  const auto all = [](const IndexFact&) { return true; };
  const auto some = log.read(10, 3, all);
  EXPECT_EQ(some.facts.size(), 4u) << "an lsn is not split";
  EXPECT_EQ(some.position, 12u);
  EXPECT_TRUE(some.more);
  EXPECT_EQ(log.read(20, 3, all).facts.size(), 0u);
}

}  // namespace
}  // namespace moraine::blob
