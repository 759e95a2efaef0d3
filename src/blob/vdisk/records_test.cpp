#include "blob/vdisk/records.h"

#include <gtest/gtest.h>

namespace moraine::blob {
namespace {

BlobId blob(std::uint32_t part) {
  return BlobId(TabletId{9}, 1, 2, 3, 400, 5, part);
}

TEST(Records, FactsComeBackAsTheyWere) {
  FactsRecord record;
  record.lsn = 42;
  BarrierFact barrier;
  barrier.tablet = TabletId{3};
  barrier.channel = 4;
  barrier.hard = true;
  barrier.record_generation = 5;
  barrier.counter = 6;
  barrier.barrier = {7, 8};
  barrier.seen = 9;
  record.facts = {BlobFact{blob(0), {77}}, BlockFact{TabletId{1}, 2}, barrier,
                  SyncPosition{1, 2, 3}, ClaimFact{blob(0)}};
  const SmallBytes bytes = encode_facts(record);
  const auto decoded = decode_facts(bytes.span());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->lsn, 42u);
  ASSERT_EQ(decoded->facts.size(), 5u);
  EXPECT_EQ(std::get<BlobFact>(decoded->facts[0]).ingress.bits, 77u);
  EXPECT_EQ(std::get<BarrierFact>(decoded->facts[2]).barrier, (GenStep{7, 8}));
  EXPECT_TRUE(std::get<BarrierFact>(decoded->facts[2]).hard);
  EXPECT_EQ(std::get<SyncPosition>(decoded->facts[3]).position, 3u);
  EXPECT_EQ(std::get<ClaimFact>(decoded->facts[4]).id, blob(0));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_facts(bytes.span().first(cut))) << cut;
  }
}

TEST(Records, MetaComesBackAsItWas) {
  MetaState meta;
  GroupConfig config;
  config.id = {5};
  config.generation = 3;
  config.geometry = Geometry::standard(Species::kNone);
  config.disks = {DiskAddress{NodeId{1}, 2, 3}};
  meta.config = config;
  meta.state = LocalState::kSelected;
  meta.guid = 99;
  meta.neighbours[4] = {GuidState::kFinal, 123};
  const SmallBytes bytes = encode_meta(meta);
  const auto decoded = decode_meta_state(bytes.span());
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded->config, config);
  EXPECT_EQ(decoded->state, LocalState::kSelected);
  EXPECT_EQ(decoded->neighbours.at(4).guid, 123u);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_meta_state(bytes.span().first(cut))) << cut;
  }
}

TEST(Records, PutsComeBackAsTheyWere) {
  const SmallBytes bytes = encode_put({blob(2), {12}, 34});
  const auto decoded = decode_put(bytes.span());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->id, blob(2));
  EXPECT_EQ(decoded->ingress.bits, 12u);
  EXPECT_EQ(decoded->lsn, 34u);
  EXPECT_FALSE(decode_put(bytes.span().first(35)));
}

}  // namespace
}  // namespace moraine::blob
