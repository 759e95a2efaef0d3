#include "cluster/placement.h"

#include <gtest/gtest.h>

#include "cluster/fake_placement.h"
#include "cluster/tablet_ids.h"

namespace moraine {
namespace {

constexpr TabletId kFirst = kFirstTopicTabletId;
constexpr TabletId kSecond{kFirstTopicTabletId.value + 1};

TEST(Placement, TheStaticFormHasEverythingOnThisNode) {
  const StaticPlacement placement(2);
  EXPECT_EQ(placement.place_of(kCoordinatorTabletId), TabletPlace::here(0));
  EXPECT_EQ(placement.place_of(kFirst), TabletPlace::here(0));
  EXPECT_EQ(placement.place_of(kSecond), TabletPlace::here(1));
  EXPECT_EQ(placement.place_of(kSecond).node(), std::nullopt);
  EXPECT_EQ(other_node(&placement, kSecond), std::nullopt);
  EXPECT_EQ(other_node(nullptr, kSecond), std::nullopt);
}

TEST(Placement, APlaceIsALaneAnotherNodeOrUnknown) {
  EXPECT_EQ(TabletPlace::here(3).lane(), 3u);
  EXPECT_EQ(TabletPlace::here(3).node(), std::nullopt);
  EXPECT_EQ(TabletPlace::on(NodeId{7}).node(), NodeId{7});
  EXPECT_EQ(TabletPlace::on(NodeId{7}).lane(), std::nullopt);
  EXPECT_EQ(TabletPlace().lane(), std::nullopt);
  EXPECT_EQ(TabletPlace().node(), std::nullopt);
}

TEST(Placement, WatchersSeeTheNewPlace) {
  FakePlacement placement(2);
  std::vector<std::pair<TabletId, TabletPlace>> seen;
  const std::uint64_t watcher =
      placement.watch([&](TabletId moved) { seen.emplace_back(moved, placement.place_of(moved)); });
  placement.move(kFirst, TabletPlace::on(NodeId{7}));
  placement.move(kFirst, std::nullopt);
  placement.move(kSecond, 0);
  placement.unwatch(watcher);
  placement.move(kSecond, 1);
  const decltype(seen) expected{{kFirst, TabletPlace::on(NodeId{7})},
                                {kFirst, TabletPlace()},
                                {kSecond, TabletPlace::here(0)}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(other_node(&placement, kFirst), std::nullopt);
}

}  // namespace
}  // namespace moraine
