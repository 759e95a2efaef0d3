#include "cluster/system_places.h"

#include "cluster/tablet_ids.h"
#include "keyvalue/key_value.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

class SystemPlacesTest : public testing::Test {
 protected:
  SystemPlacesTest() : world_(11), storage_(world_) {}
  ~SystemPlacesTest() override { world_.shutdown(); }

  Result<SystemPlaces> find(std::vector<GroupId> configured) {
    return world_.run(find_system_places(storage_.world(), storage_, std::move(configured),
                                         storage_.world().executor.now() + 5s));
  }
  GroupId scheme_in(std::vector<GroupId> configured) {
    const auto found = find(std::move(configured));
    EXPECT_TRUE(found) << found.error().message();
    return found ? found->at(kSchemeTabletId) : GroupId{};
  }
  // Tablets that were started without a record.
  void start_tablet(TabletId tablet, GroupId group) {
    auto booted = world_.run(KeyValue::boot(storage_.world(), storage_,
                                            TabletInfo::simple(tablet, group, kKeyValueChannels)));
    ASSERT_TRUE(booted) << booted.error().message();
    world_.run((*booted)->stop());
  }

  SimWorld world_;
  TestStorage storage_;
};

TEST_F(SystemPlacesTest, AGroupPutFirstLaterDoesNotMoveTheSystemsTablets) {
  EXPECT_EQ(scheme_in({kTestGroup}), kTestGroup);
  EXPECT_EQ(scheme_in({kOtherGroup, kTestGroup}), kTestGroup);
  storage_.crash();
  EXPECT_EQ(scheme_in({kOtherGroup, kTestGroup}), kTestGroup);
}

TEST_F(SystemPlacesTest, DataFromBeforeTheRecordIsFoundByItsBlocks) {
  start_tablet(kSchemeTabletId, kTestGroup);
  const auto found = find({kOtherGroup, kTestGroup});
  ASSERT_TRUE(found) << found.error().message();
  for (const auto& [tablet, group] : *found) EXPECT_EQ(group, kTestGroup) << tablet.value;
  EXPECT_EQ(found->size(), 4u);
}

TEST_F(SystemPlacesTest, AConfigWithoutTheGroupIsRefusedByTheRecordOfTheOthers) {
  ASSERT_EQ(scheme_in({kTestGroup, kOtherGroup}), kTestGroup);
  const auto found = find({kOtherGroup});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kConflict);
  EXPECT_TRUE(found.error().context.contains("no group 0x82000000")) << found.error().context;
}

TEST_F(SystemPlacesTest, GroupsOfTwoClustersAreRefused) {
  ASSERT_EQ(scheme_in({kTestGroup}), kTestGroup);
  ASSERT_EQ(scheme_in({kOtherGroup}), kOtherGroup);
  const auto found = find({kTestGroup, kOtherGroup});
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().context.contains("two clusters")) << found.error().context;
}

TEST_F(SystemPlacesTest, TabletsThatWereStartedInTwoGroupsAreRefused) {
  start_tablet(kSchemeTabletId, kTestGroup);
  start_tablet(kSchemeTabletId, kOtherGroup);
  const auto found = find({kTestGroup, kOtherGroup});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kConflict);
  EXPECT_TRUE(found.error().context.contains("was started in group")) << found.error().context;
}

TEST_F(SystemPlacesTest, AbsentGroupsAreNoReasonToChooseAnew) {
  const auto found = find({kTestGroup, GroupId{7}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kNotFound);
}

TEST(SystemPlaces, ARecordIsReadAsItWasWrittenAndDamageIsSeen) {
  const SystemPlaces places{{kSchemeTabletId, kTestGroup}, {kGatewayTabletId, kOtherGroup}};
  const Slice bytes = encode_places(places);
  EXPECT_EQ(decode_places(bytes).value(), places);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> broken(bytes.span().begin(), bytes.span().end());
    broken[i] ^= std::byte{1};
    EXPECT_FALSE(decode_places(broken)) << i;
    EXPECT_FALSE(decode_places(ByteSpan(broken).first(i))) << i;
  }
}

}  // namespace
}  // namespace moraine
