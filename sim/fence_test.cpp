// Fencing: after a block was acknowledged, no older generation ever gets OK.

#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

BlobId blob(std::uint64_t tablet, Generation generation, Step step = 1) {
  return BlobId(TabletId{tablet}, generation, step, 0, 500, 3);
}

CollectRequest barrier(std::uint64_t tablet, Generation generation, std::uint32_t counter) {
  CollectRequest request;
  request.tablet = TabletId{tablet};
  request.record_generation = generation;
  request.counter = counter;
  request.barrier = GenStep{1, 1};
  return request;
}

// Different tolerated sets of members are down when the block is taken and later.
TEST(Fence, HoldsThroughAnyProxyWithAnyOtherTolerableSetDown) {
  Story story(Species::kBlock42);
  std::uint64_t tablet = 100;
  for (std::uint32_t a = 0; a < 8; ++a) {
    const DiskSet during = disk_bit(a) | disk_bit((a + 3) % 8);
    const DiskSet after = disk_bit((a + 1) % 8) | disk_bit((a + 5) % 8);
    ++tablet;
    story.crash(during);
    ASSERT_EQ(story.block(TabletId{tablet}, 5), Status::kOk);
    story.start(during);
    // As soon as they serve again, others crash.
    while (!story.cluster().all_ready()) story.world().run_for(50ms);
    story.crash(after);
    for (const std::size_t client : {0, 1}) {
      EXPECT_EQ(story.put(blob(tablet, 5), client), Status::kBlocked);
      EXPECT_EQ(story.put(blob(tablet, 1), client), Status::kBlocked);
      EXPECT_EQ(story.put(blob(tablet, 6), client), Status::kOk);
      EXPECT_EQ(story.put(blob(tablet + 1000, 5), client), Status::kOk) << "another tablet";
    }
    EXPECT_EQ(story.collect(barrier(tablet, 5, 1)), Status::kBlocked);
    EXPECT_EQ(story.blocked(TabletId{tablet}, 1), 5u);
    story.start(after);
    story.settle();
  }
}

TEST(Fence, GoesUpAndNeverDown) {
  Story story(Species::kMirror3dc);
  const TabletId tablet{7};
  EXPECT_EQ(story.block(tablet, 4), Status::kOk);
  EXPECT_EQ(story.block(tablet, 3), Status::kAlready);
  EXPECT_EQ(story.block(tablet, 4), Status::kAlready) << "of another issuer";
  EXPECT_EQ(story.blocked(tablet), 4u);
  EXPECT_EQ(story.block(tablet, 9, 1), Status::kOk);
  story.crash(0b000000111);
  EXPECT_EQ(story.blocked(tablet), 9u);
  story.start(0b000000111);
}

TEST(Fence, NeedsAGroupQuorumOfTheRightShape) {
  Story story(Species::kMirror3dc);
  // Three, two and none of a realm are up: enough.
  story.crash(0b111'100'000);
  EXPECT_EQ(story.block(TabletId{1}, 1), Status::kOk);
  story.start(0b111'100'000);
  story.settle();
  // Two of each: not enough, though one more disk is up.
  story.crash(0b100'100'100);
  EXPECT_NE(story.block(TabletId{2}, 1), Status::kOk);
  story.start(0b100'100'100);
  story.settle();
  EXPECT_EQ(story.block(TabletId{2}, 2), Status::kOk);
}

TEST(Fence, SurvivesARestartOfEveryDisk) {
  Story story(Species::kBlock42);
  ASSERT_EQ(story.block(TabletId{1}, 8), Status::kOk);
  story.crash(0xff);
  story.start(0xff);
  story.settle();
  EXPECT_EQ(story.blocked(TabletId{1}), 8u);
  EXPECT_EQ(story.put(blob(1, 8)), Status::kBlocked);
}

}  // namespace
}  // namespace moraine::sim
