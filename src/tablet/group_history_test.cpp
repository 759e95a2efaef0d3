// A tablet whose channels move from one group to another and back: A, B, A.
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

using Words = std::vector<std::string>;

class GroupHistory : public testing::Test {
 protected:
  GroupHistory() : world_(9), storage_(world_) {}
  ~GroupHistory() override { world_.shutdown(); }

  static TabletInfo info(const std::vector<ChannelEntry>& history) {
    TabletInfo info = WordsTablet::info();
    for (auto& channel : info.channels) channel = history;
    return info;
  }
  std::unique_ptr<WordsTablet> boot(const TabletInfo& where, LeaderOptions options = {}) {
    auto booted = world_.run(WordsTablet::boot(storage_.world(), storage_, options, where));
    INVARIANT(booted, "{}", booted.error().message());
    return std::move(*booted);
  }
  void say(WordsTablet& tablet, const std::string& word, std::size_t bytes = 0) {
    const auto said = world_.run(tablet.say(word, bytes));
    ASSERT_TRUE(said) << said.error().message();
  }
  std::vector<BlobId> blobs_in(GroupId group, Channel channel) {
    blob::RangeRequest request;
    request.from = BlobId::lowest(TabletId{42}, channel);
    request.to = BlobId::highest(TabletId{42}, channel);
    request.index_only = true;
    const auto found = world_.run(storage_.group(group)->range(request));
    EXPECT_EQ(found.status, blob::Status::kOk) << found.reason;
    std::vector<BlobId> ids;
    for (const auto& item : found.items) ids.push_back(item.id);
    return ids;
  }

  // Generations 2, 3 and 4 write to A, B and A, a word with a blob each.
  void live_in_three_places(const std::vector<ChannelEntry>& last) {
    std::vector<ChannelEntry> history;
    Words expected;
    for (const ChannelEntry& entry : last) {
      history.push_back(entry);
      auto tablet = boot(info(history));
      EXPECT_EQ(tablet->state.words, expected);
      expected.push_back(fmt::format("from {}", entry.from));
      say(*tablet, expected.back(), 1'000 + entry.from);
      world_.run(tablet->leader->stop(false));
    }
  }

  SimWorld world_;
  TestStorage storage_;
  const std::vector<ChannelEntry> history_{{0, kTestGroup}, {3, kOtherGroup}, {4, kTestGroup}};
  const Words words_{"from 0", "from 3", "from 4"};
};

TEST(TabletInfo, AGroupMayComeBack) {
  TabletInfo info = WordsTablet::info();
  info.channels[kLogChannel] = {{0, kTestGroup}, {3, kOtherGroup}, {6, kTestGroup}};
  ASSERT_TRUE(check(info));
  for (const auto& [generation, group] : std::vector<std::pair<Generation, GroupId>>{
           {0, kTestGroup}, {2, kTestGroup}, {3, kOtherGroup}, {5, kOtherGroup}, {6, kTestGroup}}) {
    EXPECT_EQ(info.group(kLogChannel, generation), group) << generation;
  }
  EXPECT_EQ(info.latest_group(kLogChannel), kTestGroup);
  EXPECT_EQ(info.groups(kLogChannel).size(), 2u);
  info.channels[kLogChannel][2].from = 3;
  EXPECT_FALSE(check(info)) << "two groups from one generation on";
}

TEST_F(GroupHistory, EveryWordIsFoundWhicheverGroupHasIt) {
  live_in_three_places(history_);
  for (int life = 0; life < 3; ++life) {
    auto tablet = boot(info(history_));
    EXPECT_EQ(tablet->state.words, words_);
    world_.run(tablet->leader->stop(life == 1));
  }
  EXPECT_EQ(blobs_in(kTestGroup, kFirstDataChannel).size(), 2u);
  EXPECT_EQ(blobs_in(kOtherGroup, kFirstDataChannel).size(), 1u);
}

TEST_F(GroupHistory, WhatIsCollectedGoesFromEveryGroupAndTheRestStays) {
  live_in_three_places(history_);
  LeaderOptions options;
  options.snapshot_log_bytes = 1;
  auto tablet = boot(info(history_), options);
  ASSERT_EQ(tablet->state.blobs.size(), 3u);
  // The blob in B is collected; those in A stay.
  tablet->leader->discard({tablet->state.blobs[1]});
  tablet->state.blobs.erase(tablet->state.blobs.begin() + 1);
  say(*tablet, "and a snapshot");
  say(*tablet, "and one more");
  world_.run_for(30s);
  EXPECT_EQ(blobs_in(kTestGroup, kFirstDataChannel), tablet->state.blobs);
  EXPECT_TRUE(blobs_in(kOtherGroup, kFirstDataChannel).empty());
  EXPECT_TRUE(blobs_in(kOtherGroup, kLogChannel).empty()) << "the log before the snapshot";
  const Words words = tablet->state.words;
  world_.run(tablet->leader->stop(false));
  auto again = boot(info(history_));
  EXPECT_EQ(again->state.words, words);
  world_.run(again->leader->stop(false));
}

TEST_F(GroupHistory, ALeaderInTheFormerGroupIsFenced) {
  const std::vector<ChannelEntry> before{{0, kTestGroup}, {3, kOtherGroup}};
  auto old = boot(info(before));
  say(*old, "in B");
  auto fresh = boot(info(history_));
  EXPECT_EQ(fresh->state.words, Words{"in B"});
  const auto late = world_.run(old->say("late"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kConflict) << late.error().message();
  say(*fresh, "in A");
  world_.run(old->leader->stop(false));
  world_.run(fresh->leader->stop(false));
  auto last = boot(info(history_));
  EXPECT_EQ(last->state.words, (Words{"in B", "in A"}));
  world_.run(last->leader->stop(false));
}

}  // namespace
}  // namespace moraine
