// The keep rule: every combination of barriers and flags, on whole groups, immediately and after
// every disk was restarted; and which collect commands are refused.

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

struct Case {
  bool soft, hard, keep, do_not_keep;
  TabletId tablet;
  BlobId id() const { return BlobId(tablet, 1, 3, 2, 300, 1); }
  bool kept() const { return !hard && (!soft || (keep && !do_not_keep)); }
};

CollectRequest command(const Case& c, std::uint32_t counter) {
  CollectRequest request;
  request.tablet = c.tablet;
  request.channel = 2;
  request.record_generation = 1;
  request.counter = counter;
  return request;
}

TEST(KeepRule, HoldsInEveryCombinationAlsoAfterEveryDiskRestarted) {
  for (const Species species : {Species::kNone, Species::kBlock42, Species::kMirror3dc}) {
    Story story(species);
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < 16; ++i) {
      cases.push_back({(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0, TabletId{50 + i}});
    }
    for (const Case& c : cases) {
      ASSERT_EQ(story.put(c.id()), Status::kOk);
      CollectRequest flags = command(c, 1);
      if (c.keep) flags.keep = {c.id()};
      if (c.keep) {
        ASSERT_EQ(story.collect(flags), Status::kOk);
      }
      CollectRequest drop = command(c, 2);
      if (c.do_not_keep) drop.do_not_keep = {c.id()};
      if (c.do_not_keep) {
        ASSERT_EQ(story.collect(drop), Status::kOk);
      }
      for (const bool hard : {false, true}) {
        if (!(hard ? c.hard : c.soft)) continue;
        CollectRequest barrier = command(c, 3);
        barrier.hard = hard;
        barrier.barrier = GenStep{1, 3};
        ASSERT_EQ(story.collect(barrier), Status::kOk);
      }
    }
    const auto check = [&](const std::string& when) {
      for (const Case& c : cases) {
        EXPECT_EQ(story.get(c.id()), c.kept() ? Status::kOk : Status::kNoData)
            << to_string(species) << " " << when << " soft " << c.soft << " hard " << c.hard
            << " keep " << c.keep << " do not keep " << c.do_not_keep;
      }
    };
    story.world().run_for(20s);
    check("after sync");
    const DiskSet all = story.cluster().geometry().all_disks();
    story.crash(all);
    story.start(all);
    story.settle();
    check("after a restart");
  }
}

TEST(KeepRule, RefusesCommandsThatContradictEarlierOnes) {
  Story story(Species::kBlock42);
  const Case c{false, false, false, false, TabletId{77}};
  const auto at = [&](std::uint32_t counter, GenStep barrier, bool hard = false) {
    CollectRequest request = command(c, counter);
    request.barrier = barrier;
    request.hard = hard;
    return story.collect(request);
  };
  EXPECT_EQ(at(5, {2, 0}), Status::kOk);
  const Status again = at(5, {2, 0});
  EXPECT_TRUE(again == Status::kOk || again == Status::kAlready) << to_string(again);
  EXPECT_EQ(at(5, {2, 1}), Status::kError) << "the same record with another barrier";
  EXPECT_EQ(at(4, {2, 0}), Status::kError) << "an earlier record";
  EXPECT_EQ(at(6, {1, 9}), Status::kError) << "a lower barrier";
  EXPECT_EQ(at(6, {2, 0}), Status::kOk) << "an equal one";
  EXPECT_EQ(at(1, {1, 0}, true), Status::kOk) << "hard barriers are counted separately";
  CollectRequest other = command(c, 1);
  other.channel = 3;
  other.barrier = GenStep{9, 9};
  EXPECT_EQ(story.collect(other), Status::kOk) << "and so are channels";
  CollectRequest twice = command(c, 7);
  twice.keep = {c.id()};
  twice.do_not_keep = {c.id()};
  EXPECT_EQ(story.collect(twice), Status::kError);
  EXPECT_EQ(story.collect(command(c, 8)), Status::kError) << "neither barrier nor flags";
}

}  // namespace
}  // namespace moraine::sim
