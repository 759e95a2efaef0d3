#include "gateway/kafka/groups/group.h"

#include <gtest/gtest.h>

namespace moraine::kafka {
namespace {

JoinGroupRequest request_of(const std::string& member, std::vector<MemberProtocol> protocols = {}) {
  JoinGroupRequest request;
  request.group_id = "g";
  request.session_timeout_ms = 10'000;
  request.rebalance_timeout_ms = 30'000;
  request.member_id = member;
  request.protocol_type = "consumer";
  request.protocols = std::move(protocols);
  if (request.protocols.empty()) request.protocols = {{"range", Slice::copy_of("m")}};
  return request;
}

// A group, a clock, and all answers so far by request. Changes are stored at once.
class GroupTest : public testing::Test {
 protected:
  RequestId join(JoinGroupRequest request, std::int16_t version = 3) {
    JoinCall call;
    call.held = ++requests_;
    call.version = version;
    call.request = std::move(request);
    call.client = {"cli", "/host"};
    call.fresh_id = fmt::format("m{}", ++members_);
    group_.join(std::move(call), now_);
    collect();
    return requests_;
  }
  RequestId join(const std::string& member = "") { return join(request_of(member)); }
  RequestId join_static(const std::string& instance, const std::string& member = "") {
    JoinGroupRequest request = request_of(member);
    request.group_instance_id = instance;
    return join(std::move(request));
  }
  RequestId sync(SyncGroupRequest request) {
    group_.sync(++requests_, request, now_);
    collect();
    return requests_;
  }
  RequestId sync(const std::string& member, std::vector<std::string> given_to = {}) {
    SyncGroupRequest request;
    request.member_id = member;
    request.generation_id = group_.generation();
    for (const std::string& id : given_to) {
      request.assignments.push_back({id, Slice::copy_of("for " + id)});
    }
    return sync(std::move(request));
  }
  ErrorCode heartbeat(const std::string& member) {
    HeartbeatRequest request;
    request.member_id = member;
    request.generation_id = group_.generation();
    return group_.heartbeat(request, now_);
  }
  // Advances the clock; deadlines expire in time.
  void pass(Duration duration) {
    const Instant until = now_ + duration;
    while (group_.deadline() <= until) {
      now_ = std::max(now_, group_.deadline());
      group_.expire(now_);
      collect();
    }
    now_ = until;
  }
  void collect() {
    while (true) {
      GroupEffects effects = group_.take_effects();
      for (auto& answer : effects.joins) {
        EXPECT_TRUE(joins_.emplace(answer.held, std::move(answer.response)).second);
      }
      for (auto& answer : effects.syncs) {
        EXPECT_TRUE(syncs_.emplace(answer.held, std::move(answer.response)).second);
      }
      if (!effects.store) return;
      group_.stored(effects.store->ticket, keeps_, now_);
    }
  }
  bool joined(RequestId held) const { return joins_.contains(held); }
  ErrorCode join_error(RequestId held) const { return joins_.at(held).error_code; }
  ErrorCode sync_error(RequestId held) const { return syncs_.at(held).error_code; }

  // m1 leads m2; Stable in generation 1.
  void two_in_stable() {
    join();
    join();
    pass(kInitialRebalanceDelay);
    sync("m2");
    sync("m1", {"m1", "m2"});
    ASSERT_EQ(group_.state(), GroupState::kStable);
  }

  Instant now_;
  Group group_{"g", Instant{}};
  bool keeps_ = true;
  RequestId requests_ = 0;
  int members_ = 0;
  std::map<RequestId, JoinGroupResponse> joins_;
  std::map<RequestId, SyncGroupResponse> syncs_;
};

TEST_F(GroupTest, TheInitialDelayGrowsWithMembersUpToTheRebalanceTimeout) {
  JoinGroupRequest hasty = request_of("");
  hasty.rebalance_timeout_ms = 1'000;
  const RequestId first = join(hasty);
  for (int i = 0; i < 4; ++i) {
    pass(240ms);
    join(hasty);
    EXPECT_FALSE(joined(first));
  }
  pass(40ms);
  EXPECT_TRUE(joined(first));
  EXPECT_EQ(joins_.at(first).members.size(), 5u);
}

TEST_F(GroupTest, ALeaderThatNeverSyncsIsRemovedAndTheOthersRebalance) {
  join();
  join();
  pass(kInitialRebalanceDelay);
  const RequestId waiting = sync("m2");
  for (int i = 0; i < 29; ++i) {
    pass(1s);
    EXPECT_EQ(heartbeat("m1"), ErrorCode::kNone) << "it lives, but does not sync";
  }
  EXPECT_FALSE(syncs_.contains(waiting)) << "held beyond its session";
  pass(1s);
  EXPECT_EQ(sync_error(waiting), ErrorCode::kRebalanceInProgress);
  EXPECT_EQ(heartbeat("m1"), ErrorCode::kUnknownMemberId);
  const RequestId again = join("m2");
  EXPECT_EQ(joins_.at(again).leader, "m2");
  EXPECT_EQ(joins_.at(again).generation_id, 2);
}

TEST_F(GroupTest, MembersThatDoNotSyncAreRemovedEvenWhenTheLeaderDid) {
  join();
  join();
  pass(kInitialRebalanceDelay);
  sync("m1", {"m1", "m2"});
  EXPECT_EQ(group_.state(), GroupState::kStable);
  for (int i = 0; i < 30; ++i) {
    heartbeat("m1");
    heartbeat("m2");
    pass(1s);
  }
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
  EXPECT_EQ(heartbeat("m2"), ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, MembersThatDoNotRejoinAreDroppedAtTheRebalanceTimeoutButStaticOnesStay) {
  join();
  join();
  join_static("i");
  pass(kInitialRebalanceDelay);
  sync("m2");
  sync("m3");
  sync("m1", {"m1", "m2", "m3"});
  const RequestId held = join("m1");
  for (int i = 0; i < 30; ++i) {
    EXPECT_FALSE(joined(held));
    EXPECT_EQ(heartbeat("m2"), ErrorCode::kRebalanceInProgress);
    EXPECT_EQ(heartbeat("m3"), ErrorCode::kRebalanceInProgress);
    pass(1s);
  }
  ASSERT_TRUE(joined(held)) << "its session does not end while its join is held";
  ASSERT_EQ(joins_.at(held).members.size(), 2u);
  EXPECT_EQ(joins_.at(held).members[1].group_instance_id, "i");
  EXPECT_EQ(heartbeat("m2"), ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, AGroupOfAbsentStaticMembersWaitsForTheirSessions) {
  join_static("i");
  join();
  pass(kInitialRebalanceDelay);
  sync("m1", {"m1"});
  LeaveGroupRequest::Member leaving{"m2", std::nullopt};
  EXPECT_EQ(group_.leave(leaving, now_), ErrorCode::kNone);
  pass(9s);
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
  pass(1s);
  EXPECT_EQ(group_.state(), GroupState::kEmpty);
}

TEST_F(GroupTest, ANewMemberWhoseJoinIsHeldExpiresAfterFiveMinutes) {
  two_in_stable();
  JoinGroupRequest patient = request_of("");
  patient.rebalance_timeout_ms = 3'600'000;
  const RequestId held = join(patient);
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(joined(held));
    heartbeat("m1");
    heartbeat("m2");
    pass(1s);
  }
  EXPECT_EQ(join_error(held), ErrorCode::kUnknownMemberId);
}

TEST_F(GroupTest, WithoutARebalanceTimeoutTheSessionTimeoutCounts) {
  JoinGroupRequest old = request_of("");
  old.rebalance_timeout_ms = -1;
  join(old, 0);
  join(old, 0);
  pass(kInitialRebalanceDelay);
  sync("m2");
  sync("m1", {"m1", "m2"});
  old.member_id = "m1";
  const RequestId held = join(old, 0);
  pass(9s);
  EXPECT_EQ(heartbeat("m2"), ErrorCode::kRebalanceInProgress);
  EXPECT_FALSE(joined(held));
  pass(1s);
  ASSERT_TRUE(joined(held));
  EXPECT_EQ(joins_.at(held).members.size(), 1u);
}

TEST_F(GroupTest, AKnownMemberIsAnsweredAtOnceUnlessItLeadsOrChanged) {
  two_in_stable();
  const RequestId same = join("m2");
  ASSERT_TRUE(joined(same));
  EXPECT_EQ(joins_.at(same).generation_id, 1);
  EXPECT_EQ(joins_.at(same).leader, "m1");
  EXPECT_EQ(group_.state(), GroupState::kStable);
  const RequestId changed = join(request_of("m2", {{"range", Slice::copy_of("other")}}));
  EXPECT_FALSE(joined(changed));
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
  const RequestId leader = join("m1");
  EXPECT_TRUE(joined(changed) && joined(leader));
  const RequestId lost = join("m1");
  ASSERT_TRUE(joined(lost)) << "its answer was lost; nothing has changed";
  EXPECT_EQ(joins_.at(lost).generation_id, 2);
  EXPECT_EQ(joins_.at(lost).members.size(), 2u);
  EXPECT_EQ(group_.state(), GroupState::kCompletingRebalance);
  sync("m2");
  sync("m1", {"m1", "m2"});
  EXPECT_FALSE(joined(join("m1"))) << "a leader that rejoins wants to assign anew";
}

TEST_F(GroupTest, ARebalanceWaitsForMembersThatWereJustGivenAnId) {
  two_in_stable();
  const RequestId refused = join(request_of(""), 5);
  EXPECT_EQ(join_error(refused), ErrorCode::kMemberIdRequired);
  EXPECT_EQ(group_.state(), GroupState::kStable) << "an id alone disturbs nobody";
  const RequestId first = join("m1");
  const RequestId second = join("m2");
  EXPECT_FALSE(joined(first) || joined(second));
  const RequestId third = join(request_of(joins_.at(refused).member_id), 5);
  EXPECT_TRUE(joined(first) && joined(second) && joined(third));
  EXPECT_EQ(joins_.at(first).members.size(), 3u);
}

TEST_F(GroupTest, SyncNamesWhatIsWrong) {
  two_in_stable();
  EXPECT_EQ(sync_error(sync("nobody")), ErrorCode::kUnknownMemberId);
  SyncGroupRequest request;
  request.member_id = "m1";
  request.generation_id = 7;
  EXPECT_EQ(sync_error(sync(request)), ErrorCode::kIllegalGeneration);
  request.generation_id = 1;
  request.protocol_name = "roundrobin";
  EXPECT_EQ(sync_error(sync(request)), ErrorCode::kInconsistentGroupProtocol);
  request.protocol_name = "range";
  request.protocol_type = "connect";
  EXPECT_EQ(sync_error(sync(request)), ErrorCode::kInconsistentGroupProtocol);
  request.protocol_type = "consumer";
  EXPECT_EQ(sync_error(sync(request)), ErrorCode::kNone);
  join();
  EXPECT_EQ(sync_error(sync(request)), ErrorCode::kRebalanceInProgress);
}

TEST_F(GroupTest, AMemberThatTheLeaderForgotGetsNothing) {
  join();
  join();
  pass(kInitialRebalanceDelay);
  const RequestId second = sync("m2");
  const RequestId first = sync("m1", {"m1", "stranger"});
  EXPECT_EQ(syncs_.at(first).assignment.text(), "for m1");
  EXPECT_EQ(sync_error(second), ErrorCode::kNone);
  EXPECT_TRUE(syncs_.at(second).assignment.empty());
}

TEST_F(GroupTest, AJoinDuringTheSyncSendsTheWaitingMembersBack) {
  join();
  join();
  pass(kInitialRebalanceDelay);
  const RequestId waiting = sync("m2");
  join();
  EXPECT_EQ(sync_error(waiting), ErrorCode::kRebalanceInProgress);
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
}

TEST_F(GroupTest, AnAssignmentThatIsLostIsRefusedAndMadeAnew) {
  join();
  pass(kInitialRebalanceDelay);
  keeps_ = false;
  EXPECT_EQ(sync_error(sync("m1", {"m1"})), ErrorCode::kCoordinatorNotAvailable);
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
  keeps_ = true;
  EXPECT_EQ(joins_.at(join("m1")).generation_id, 2);
}

TEST_F(GroupTest, AnAssignmentOfAGenerationThatIsOverChangesNothing) {
  join();
  pass(kInitialRebalanceDelay);
  SyncGroupRequest request;
  request.member_id = "m1";
  request.generation_id = 1;
  group_.sync(++requests_, request, now_);
  const GroupEffects slow = group_.take_effects();
  ASSERT_TRUE(slow.store);
  join();
  EXPECT_EQ(sync_error(requests_ - 1), ErrorCode::kRebalanceInProgress);
  group_.stored(slow.store->ticket, true, now_);
  EXPECT_EQ(group_.state(), GroupState::kPreparingRebalance);
}

TEST_F(GroupTest, WhatCouldNotBeKeptIsTriedAgain) {
  two_in_stable();
  keeps_ = false;
  for (const char* id : {"m1", "m2"}) group_.leave({id, std::nullopt}, now_);
  GroupEffects effects = group_.take_effects();
  group_.stored(effects.store->ticket, false, now_);
  EXPECT_EQ(group_.deadline(), now_ + kStoreRetry);
  group_.expire(now_ + kStoreRetry);
  effects = group_.take_effects();
  ASSERT_TRUE(effects.store && effects.store->record);
  EXPECT_TRUE(effects.store->record->members.empty());
}

TEST_F(GroupTest, TheSecondJoinOfAMemberTakesThePlaceOfTheFirst) {
  two_in_stable();
  const RequestId first = join("m1");
  const RequestId second = join("m1");
  EXPECT_EQ(join_error(first), ErrorCode::kRebalanceInProgress);
  EXPECT_FALSE(joined(second));
}

TEST_F(GroupTest, AStaticMemberThatWantsOtherTopicsRebalances) {
  const RequestId first = join_static("i");
  pass(kInitialRebalanceDelay);
  sync("m1", {"m1"});
  JoinGroupRequest other = request_of("", {{"range", Slice::copy_of("other")}});
  other.group_instance_id = "i";
  const RequestId back = join(other);
  EXPECT_EQ(joins_.at(first).generation_id, 1);
  EXPECT_EQ(joins_.at(back).generation_id, 2);
  EXPECT_EQ(joins_.at(back).leader, "m2");
}

TEST_F(GroupTest, AStaticMemberThatIsReplacedWhileItWaitsGetsAnError) {
  two_in_stable();
  const RequestId old = join_static("i");
  const RequestId fresh = join_static("i");
  EXPECT_EQ(join_error(old), ErrorCode::kFencedInstanceId);
  EXPECT_FALSE(joined(fresh));
  EXPECT_EQ(join_error(join_static("i", "m3")), ErrorCode::kFencedInstanceId);
}

TEST_F(GroupTest, AGroupThatIsFullRefusesNewMembersOnly) {
  for (std::size_t i = 0; i + 1 < kMembersMax; ++i) join();
  EXPECT_EQ(join_error(join(request_of(""), 5)), ErrorCode::kMemberIdRequired);
  EXPECT_EQ(join_error(join()), ErrorCode::kGroupMaxSizeReached) << "pending ones count";
  pass(kInitialRebalanceDelay);
  EXPECT_TRUE(joined(join("m1")));
}

TEST_F(GroupTest, TheMetadataOfMembersIsBounded) {
  const auto of_size = [](std::size_t bytes) {
    return request_of("", {{"range", std::move(Buffer::zeroed(bytes)).freeze()}});
  };
  EXPECT_EQ(join_error(join(of_size(kMemberBytesMax))), ErrorCode::kInvalidRequest);
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(joined(join(of_size(kMemberBytesMax - 100))));
  EXPECT_EQ(join_error(join(of_size(kMemberBytesMax - 100))), ErrorCode::kGroupMaxSizeReached);
}

TEST_F(GroupTest, TheProtocolWithTheMostVotesWins) {
  const Slice none;
  const RequestId first = join(request_of("", {{"a", none}, {"b", none}, {"c", none}}));
  join(request_of("", {{"c", none}, {"b", none}}));
  join(request_of("", {{"x", none}, {"b", none}, {"c", none}}));
  EXPECT_EQ(join_error(join(request_of("", {{"a", none}}))), ErrorCode::kInconsistentGroupProtocol);
  pass(kInitialRebalanceDelay);
  EXPECT_EQ(joins_.at(first).protocol_name, "b") << "a is not known to all; b has two of three";
}

}  // namespace
}  // namespace moraine::kafka
