// NODATA is a proof (P07); half-written blobs are completed or provably absent (P08), and what a
// restoring read has found stays (P09); rerouted puts are as safe as others (P06).
#include <gtest/gtest.h>

#include <bit>

#include "base/log.h"
#include "blob/group/erasure.h"
#include "sim/stage.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

class Absence : public testing::Test {
 protected:
  Absence() : stage_(options()) {
    stage_.open();
    stage_.set_command_time(3s);
  }
  ~Absence() override { EXPECT_FALSE(stage_.failure()) << *stage_.failure(); }

  static ClusterOptions options() {
    ClusterOptions options;
    options.node = quick_node_options();
    // A half-written blob stays as it is until a read decides.
    options.node.vdisk.replication_period = 1h;
    return options;
  }
  // Puts the first `count` parts of the blob in their places, as a client that died half-way.
  BlobId half_written(Step step, std::uint32_t count) {
    const BlobId id = stage_.id(1, step, 1'000 + step);
    (void)stage_.model().put_sent(id);
    const auto subgroup = stage_.cluster().geometry().subgroup(id);
    const std::vector<Slice> parts = split(Species::kBlock42, blob_bytes(id));
    for (std::uint32_t slot = 0; slot < count; ++slot) {
      PutPart put;
      put.id = id.with_part(slot + 1);
      put.data = parts[slot];
      EXPECT_EQ(stage_.ask(subgroup.order[slot], std::move(put)).status, Status::kOk);
    }
    return id;
  }
  void expect_readable_under_every_pair(const BlobId& id) {
    for (std::uint32_t a = 0; a < 8; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        stage_.hide(disk_bit(a) | disk_bit(b));
        EXPECT_EQ(stage_.get_one(id), Status::kOk) << "without disks " << a << " and " << b;
      }
    }
    stage_.hide(0);
  }

  ScopedLogCapture silence_{0};
  Stage stage_;
};

TEST_F(Absence, OfAnIdNeverWrittenIsProvenWithUpToTwoDisksDown) {
  const BlobId id = stage_.id(1, 1, 500);
  for (DiskSet lost = 0; lost <= 0xff; ++lost) {
    const int count = std::popcount(lost);
    if (count > 3 || (count > 1 && lost % 5 != 0)) continue;
    stage_.hide(lost);
    for (const bool must_restore : {false, true}) {
      const Status status = stage_.get_one(id, must_restore);
      if (count <= 2) {
        EXPECT_EQ(status, Status::kNoData) << "lost " << lost;
      } else {
        EXPECT_NE(status, Status::kNoData) << "lost " << lost;
        EXPECT_NE(status, Status::kOk) << "lost " << lost;
      }
    }
  }
}

TEST_F(Absence, IsNeverSaidOfAConfirmedBlobWhateverIsDown) {
  const BlobId id = stage_.id(1, 1, 500);
  ASSERT_EQ(stage_.put(id).status, Status::kOk);
  for (DiskSet lost = 0; lost <= 0xff; lost += 3) {
    stage_.hide(lost);
    const Status status = stage_.get_one(id);
    EXPECT_NE(status, Status::kNoData) << "lost " << lost;
    if (std::popcount(lost) <= 2) EXPECT_EQ(status, Status::kOk) << "lost " << lost;
  }
}

TEST_F(Absence, ARestoringGetDecidesAHalfWrittenBlobByItsParts) {
  for (std::uint32_t parts = 0; parts <= 5; ++parts) {
    const BlobId id = half_written(parts + 1, parts);
    const Status status = stage_.get_one(id, true);
    EXPECT_EQ(status, parts <= 3 ? Status::kNoData : Status::kOk) << parts << " parts";
    if (status == Status::kOk) expect_readable_under_every_pair(id);
  }
}

TEST_F(Absence, AHalfWrittenBlobThatCouldBeConfirmedIsAnError) {
  const BlobId id = half_written(1, 4);
  const auto subgroup = stage_.cluster().geometry().subgroup(id);
  // Three parts are visible; with three unreachable disks it could be complete.
  stage_.hide(disk_bit(subgroup.order[0]) | disk_bit(subgroup.order[5]) |
              disk_bit(subgroup.order[6]));
  const Status status = stage_.get_one(id, true);
  EXPECT_NE(status, Status::kNoData);
  EXPECT_NE(status, Status::kOk);
}

TEST_F(Absence, WhatARestoringRangeFoundStays) {
  const BlobId id = half_written(1, 4);
  RangeRequest range;
  range.from = BlobId::lowest(Stage::kTablet, 0);
  range.to = BlobId::highest(Stage::kTablet, 0);
  range.must_restore = true;
  range.index_only = true;
  const RangeResult result = stage_.world().run(stage_.proxy().range(range));
  ASSERT_EQ(result.status, Status::kOk);
  ASSERT_EQ(result.items.size(), 1u);
  stage_.model().find(id)->confirmed = true;
  expect_readable_under_every_pair(id);
}

TEST_F(Absence, WhatADiscoverFoundStays) {
  const BlobId complete = stage_.id(1, 1, 64);
  ASSERT_EQ(stage_.put(complete).status, Status::kOk);
  const BlobId hopeless = half_written(3, 3);
  const BlobId id = half_written(2, 4);
  DiscoverRequest discover;
  discover.tablet = Stage::kTablet;
  discover.read_body = true;
  const DiscoverResult result = stage_.world().run(stage_.proxy().discover(discover));
  ASSERT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.id, id) << "the newest that can be restored, not " << hopeless.to_string();
  EXPECT_TRUE(right_bytes(id, 0, result.body));
  stage_.model().find(id)->confirmed = true;
  expect_readable_under_every_pair(id);
}

TEST_F(Absence, APutWithTwoMainsDownSurvivesAnyTwoLossesAfterwards) {
  for (Step step = 1; step <= 4; ++step) {
    const BlobId id = stage_.id(1, step, 700 * step);
    const auto subgroup = stage_.cluster().geometry().subgroup(id);
    stage_.hide(disk_bit(subgroup.order[step]) | disk_bit(subgroup.order[0]));
    ASSERT_EQ(stage_.put(id).status, Status::kOk);
    expect_readable_under_every_pair(id);
  }
}

TEST_F(Absence, APutWithThreeMainsDownIsNotConfirmed) {
  const BlobId id = stage_.id(1, 1, 700);
  const auto subgroup = stage_.cluster().geometry().subgroup(id);
  stage_.hide(disk_bit(subgroup.order[0]) | disk_bit(subgroup.order[1]) |
              disk_bit(subgroup.order[2]));
  EXPECT_NE(stage_.put(id).status, Status::kOk) << "two parts on one handoff are not enough";
}

}  // namespace
}  // namespace moraine::sim
