// Commits of offsets in the state of a group.
#include <gtest/gtest.h>

#include "gateway/kafka/groups/group.h"

namespace moraine::kafka {
namespace {

OffsetCommitRequest commit_of(const std::string& member, std::int32_t generation) {
  OffsetCommitRequest request;
  request.group_id = "g";
  request.member_id = member;
  request.generation_id = generation;
  return request;
}

// One member, in generation 1, that has not committed.
GroupRecord stable_record() {
  GroupRecord record;
  record.group_id = "g";
  record.generation = 1;
  record.protocol_type = "consumer";
  record.protocol = "range";
  record.leader = "m";
  MemberRecord& member = record.members.emplace_back();
  member.id = "m";
  member.session_timeout_ms = member.rebalance_timeout_ms = 60'000;
  member.protocols = {{"range", Slice::copy_of("topics")}};
  return record;
}

TEST(GroupOffsets, ThatThereAreSomeIsOrderedUntilItIsKept) {
  const Instant now;
  Group group(stable_record(), now);
  EXPECT_EQ(group.commit(commit_of("m", 1), now), ErrorCode::kNone);
  GroupEffects effects = group.take_effects();
  ASSERT_TRUE(effects.store && effects.store->record);
  EXPECT_TRUE(effects.store->record->has_offsets);
  EXPECT_EQ(effects.store->record->members.size(), 1u);
  group.stored(effects.store->ticket, false, now);
  EXPECT_EQ(group.deadline(), now + kStoreRetry) << "also without another commit";
  EXPECT_EQ(group.commit(commit_of("m", 1), now), ErrorCode::kNone);
  effects = group.take_effects();
  ASSERT_TRUE(effects.store && effects.store->record);
  group.stored(effects.store->ticket, true, now);
  EXPECT_EQ(group.commit(commit_of("m", 1), now), ErrorCode::kNone);
  EXPECT_FALSE(group.take_effects().store);
}

TEST(GroupOffsets, InARebalanceTheyAreKeptWithoutTheMembersWhoJoinAnyway) {
  const Instant now;
  Group group(stable_record(), now);
  JoinCall call;
  call.held = 1;
  call.version = 3;
  call.fresh_id = "new";
  call.request.session_timeout_ms = call.request.rebalance_timeout_ms = 60'000;
  call.request.protocol_type = "consumer";
  call.request.protocols = {{"range", Slice::copy_of("topics")}};
  group.join(std::move(call), now);
  ASSERT_EQ(group.state(), GroupState::kPreparingRebalance);
  EXPECT_EQ(group.commit(commit_of("m", 1), now), ErrorCode::kNone);
  const GroupEffects effects = group.take_effects();
  ASSERT_TRUE(effects.store && effects.store->record);
  EXPECT_TRUE(effects.store->record->has_offsets);
  EXPECT_EQ(effects.store->record->generation, 1);
  EXPECT_TRUE(effects.store->record->members.empty());
  EXPECT_TRUE(effects.store->record->leader.empty());
}

TEST(GroupOffsets, AnEmptyGroupMayGoAWeekAfterItsLastCommit) {
  const Instant now;
  const Instant late = now + kIdleGroupKept;
  Group group("g", now);
  EXPECT_FALSE(group.expendable(late)) << "it was never kept";
  EXPECT_EQ(group.commit(commit_of("", -1), now), ErrorCode::kNone);
  group.stored(group.take_effects().store->ticket, true, now);
  EXPECT_FALSE(group.expendable(now + 24h));
  EXPECT_TRUE(group.expendable(late));
  EXPECT_EQ(group.deadline(), Instant::never()) << "only when there are too many";
  EXPECT_EQ(group.commit(commit_of("", -1), now + 24h), ErrorCode::kNone);
  EXPECT_FALSE(group.expendable(late));
}

}  // namespace
}  // namespace moraine::kafka
