// Wiped disks: a tolerated set loses everything, gets back all that the group knows, and then
// another set may be lost.

#include "blob/group/erasure.h"
#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr TabletId kTablet{3};
constexpr Step kBlobs = 120;

BlobId blob(Step step) {
  return BlobId(kTablet, 1, step, 0, 1 + step * 53 % 4000, 2);
}

void check_wiped(Story& story, DiskSet first, DiskSet second) {
  for (Step step = 1; step <= kBlobs; ++step) ASSERT_EQ(story.put(blob(step)), Status::kOk);
  ASSERT_EQ(story.block(TabletId{99}, 7), Status::kOk);
  CollectRequest collect;
  collect.tablet = kTablet;
  collect.record_generation = 2;
  collect.counter = 1;
  collect.barrier = GenStep{1, 40};
  collect.keep = {blob(10), blob(20)};
  ASSERT_EQ(story.collect(collect), Status::kOk);
  story.world().run_for(10s);

  story.replace(first);
  // Nothing is acknowledged before recovery: the disks are back, but do not answer.
  story.world().run_for(1s);
  for (std::uint32_t order = 0; order < story.disks(); ++order) {
    if (!contains(first, order)) continue;
    EXPECT_EQ(story.ask(order, GetBlock{TabletId{99}}).status, Status::kNotReady) << order;
    const DiskReply status = story.ask(order, GetStatus{});
    EXPECT_TRUE(std::get<GetStatusReply>(status.body).reason.contains("lost its data")) << order;
  }
  story.settle();
  for (std::uint32_t order = 0; order < story.disks(); ++order) {
    const auto& state = story.cluster().vdisk(order)->state();
    EXPECT_EQ(state.blocked(TabletId{99}), 7u) << order;
    EXPECT_EQ(state.barriers().soft(kTablet, 0), (GenStep{1, 40})) << order;
  }
  story.replace(second);
  story.settle();
  story.crash(first);
  for (Step step = 1; step <= kBlobs; ++step) {
    const bool kept = step > 40 || step == 10 || step == 20;
    EXPECT_EQ(story.get(blob(step)), kept ? Status::kOk : Status::kNoData) << step;
  }
}

TEST(WipedDisk, Block42GetsTwoDisksBackAndThenTwoOthers) {
  Story story(Species::kBlock42);
  check_wiped(story, 0b00100001, 0b10000100);
}

TEST(WipedDisk, Mirror3dcGetsARealmAndADiskBackAndThenOthers) {
  Story story(Species::kMirror3dc);
  check_wiped(story, 0b000'001'111, 0b111'000'010);
}

TEST(WipedDisk, AGroupOfOneThatLostItsDiskStartsEmpty) {
  Story story(Species::kNone);
  ASSERT_EQ(story.put(blob(1)), Status::kOk);
  story.replace(1);
  story.settle();
  EXPECT_EQ(story.get(blob(1)), Status::kNoData) << "no other disk had it";
}

// The newest entry of the log has only `parts_written` parts, and its writer has ended. Then the
// members without a part are replaced one after another, each once the one before is complete.
void check_unconfirmed(Story& story, std::uint32_t parts_written) {
  ASSERT_EQ(story.put(blob(1)), Status::kOk);
  const BlobId open = blob(2);
  const Geometry& geometry = story.cluster().geometry();
  const auto subgroup = geometry.subgroup(open);
  const std::vector<Slice> parts = split(geometry.species(), blob_bytes(open));
  for (std::uint32_t slot = 0; slot < parts_written; ++slot) {
    PutPart put;
    put.id = open.with_part(slot + 1);
    put.data = parts[slot];
    ASSERT_EQ(story.ask(subgroup.order[slot], put).status, Status::kOk);
  }
  story.world().run_for(10s);
  for (std::uint32_t slot = parts_written; slot < geometry.parts(); ++slot) {
    story.replace(disk_bit(subgroup.order[slot]));
    story.settle();
  }
  DiscoverRequest request;
  request.tablet = kTablet;
  request.read_body = true;
  for (const Generation force : {0u, 1u}) {
    request.force_blocked_generation = force;
    const DiscoverResult found = story.world().run(story.cluster().proxy(0).discover(request));
    EXPECT_EQ(found.status, Status::kOk) << found.reason;
    EXPECT_EQ(found.id, blob(1)) << found.id.to_string();
  }
}

TEST(WipedDisk, AnEntryThatWasNeverConfirmedIsNotTakenForConfirmedAfterThreeReplacements) {
  Story story(Species::kBlock42);
  check_unconfirmed(story, 3);
}

TEST(WipedDisk, NorWithFewerPartsAndMoreReplacements) {
  Story story(Species::kBlock42);
  check_unconfirmed(story, 1);
}

}  // namespace
}  // namespace moraine::sim
