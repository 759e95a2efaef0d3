// A put that died half-way: a restoring read decides its outcome, finally.

#include "sim/story.h"

#include "blob/group/erasure.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

BlobId blob(Step step) {
  return BlobId(TabletId{4}, 1, step, 0, 1000, 6);
}

// Writes parts 1..count of the blob to their mains, as a proxy that died would leave them.
void leave_parts(Story& story, const BlobId& id, std::uint32_t count) {
  const std::vector<Slice> parts = split(Species::kBlock42, blob_bytes(id));
  const auto subgroup = story.cluster().geometry().subgroup(id);
  for (std::uint32_t part = 1; part <= count; ++part) {
    PutPart put;
    put.id = id.with_part(part);
    put.data = parts[part - 1];
    ASSERT_EQ(story.ask(subgroup.order[part - 1], std::move(put)).status, Status::kOk);
  }
}

TEST(PartialWrite, IsAbsentBelowFourPartsAndRestoredFromFourOn) {
  for (std::uint32_t count = 0; count <= 6; ++count) {
    Story story(Species::kBlock42, 60 + count);
    const BlobId id = blob(count + 1);
    leave_parts(story, id, count);
    const Status expected = count >= 4 ? Status::kOk : Status::kNoData;
    EXPECT_EQ(story.get(id, true), expected) << count << " parts";
    story.world().run_for(20s);
    EXPECT_EQ(story.get(id, true), expected) << count << " parts, after sync";
    if (count < 4) continue;
    // Once it was reported present, it survives any two losses.
    for (std::uint32_t a = 0; a < 8; a += 3) {
      const DiskSet down = disk_bit(a) | disk_bit((a + 1) % 8);
      story.crash(down);
      EXPECT_EQ(story.get(id), Status::kOk) << count << " parts without " << down;
      story.start(down);
      story.settle();
    }
  }
}

TEST(PartialWrite, AbsenceIsAProofAndSilenceIsNot) {
  Story story(Species::kBlock42);
  const BlobId never = blob(50);
  const BlobId there = blob(51);
  ASSERT_EQ(story.put(there), Status::kOk);
  DiskSet down = 0;
  for (std::uint32_t lost = 0; lost <= 3; ++lost) {
    const Status status = story.get(never);
    if (lost <= 2) {
      EXPECT_EQ(status, Status::kNoData) << lost << " down";
    } else {
      // Disks that do not answer, rather than refuse, are waited for until the deadline.
      EXPECT_TRUE(status == Status::kError || status == Status::kDeadline) << to_string(status);
    }
    EXPECT_NE(story.get(there), Status::kNoData) << lost << " down";
    story.crash(disk_bit(lost));
    down |= disk_bit(lost);
  }
  story.start(down);
}

}  // namespace
}  // namespace moraine::sim
