#include "gateway/kafka/groups/stored_groups.h"

#include "base/log.h"
#include "gateway/kafka/groups/test_groups.h"

namespace moraine::kafka {
namespace {

using StoredGroupsTest = GroupsTest;

TEST_F(StoredGroupsTest, TwoMembersThatStartTogetherJoinInOneGeneration) {
  const auto first = join(join_request());
  world_.run_for(300ms);
  const auto second = join(join_request());
  world_.run_for(300ms);
  EXPECT_FALSE(first->has_value()) << "the delay begins anew with each member";
  world_.run_for(300ms);
  ASSERT_TRUE(first->has_value() && second->has_value());
  EXPECT_EQ((*first)->generation_id, 1);
  EXPECT_EQ((*second)->generation_id, 1);
  EXPECT_EQ((*first)->leader, (*first)->member_id);
  EXPECT_EQ((*second)->leader, (*first)->member_id);
  EXPECT_EQ((*first)->protocol_name, "range");
  EXPECT_EQ((*first)->members.size(), 2u);
  EXPECT_TRUE((*second)->members.empty());
  EXPECT_EQ(state(), "CompletingRebalance");
  sync_all({**first, **second});
  EXPECT_EQ(state(), "Stable");
}

TEST_F(StoredGroupsTest, FromVersionFourAMemberGetsItsIdFirst) {
  const auto refused = join(join_request(), 5);
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->error_code, ErrorCode::kMemberIdRequired);
  EXPECT_EQ((*refused)->generation_id, -1);
  EXPECT_TRUE((*refused)->leader.empty());
  EXPECT_TRUE((*refused)->member_id.starts_with("cli-"));
  const auto joined = join(join_request((*refused)->member_id), 5);
  world_.run_for(kInitialRebalanceDelay);
  ASSERT_TRUE(joined->has_value());
  EXPECT_EQ((*joined)->generation_id, 1);
  EXPECT_EQ((*joined)->leader, (*refused)->member_id);
  ASSERT_EQ((*joined)->members.size(), 1u);
  EXPECT_TRUE(equal((*joined)->members[0].metadata, topics_of({"t"})));
}

TEST_F(StoredGroupsTest, AnIdThatIsNotUsedInTimeIsForgottenAndTheGroupWithIt) {
  const auto refused = join(join_request(), 5);
  EXPECT_TRUE(groups_->exists("g"));
  world_.run_for(11s);
  EXPECT_FALSE(groups_->exists("g"));
  const auto late = join(join_request((*refused)->member_id), 5);
  ASSERT_TRUE(late->has_value());
  EXPECT_EQ((*late)->error_code, ErrorCode::kUnknownMemberId);
}

TEST_F(StoredGroupsTest, ADeadMemberIsDroppedAfterItsSessionAndTheOthersRebalance) {
  const auto members = stable({join_request(), join_request()});
  const std::string& alive = members[0].member_id;
  for (int i = 0; i < 9; ++i) {
    world_.run_for(1s);
    EXPECT_EQ(heartbeat(alive, 1), ErrorCode::kNone);
  }
  world_.run_for(1s);
  EXPECT_EQ(heartbeat(alive, 1), ErrorCode::kRebalanceInProgress);
  const auto joined = join(join_request(alive));
  ASSERT_TRUE(joined->has_value()) << "nobody else is waited for";
  EXPECT_EQ((*joined)->generation_id, 2);
  EXPECT_EQ((*joined)->members.size(), 1u);
  EXPECT_EQ(heartbeat(members[1].member_id, 1), ErrorCode::kUnknownMemberId);
  sync_all({**joined});
}

TEST_F(StoredGroupsTest, LeaveGroupRebalancesAtOnce) {
  const auto members = stable({join_request(), join_request()});
  EXPECT_EQ(leave(members[0].member_id), ErrorCode::kNone);
  EXPECT_EQ(state(), "PreparingRebalance");
  const auto joined = join(join_request(members[1].member_id));
  ASSERT_TRUE(joined->has_value());
  EXPECT_EQ((*joined)->generation_id, 2);
  EXPECT_EQ((*joined)->leader, members[1].member_id) << "the leader has left";
}

TEST_F(StoredGroupsTest, LeaveGroupAnswersByVersion) {
  const auto members = stable({join_request(), join_request("", "i")});
  EXPECT_EQ(leave("nobody"), ErrorCode::kUnknownMemberId);
  LeaveGroupRequest request = leave_request(members[0].member_id);
  request.members.push_back({"nobody", std::nullopt});
  request.members.push_back({"", "i"});
  const auto answer = world_.run(groups_->leave(request, 3));
  EXPECT_EQ(answer.error_code, ErrorCode::kNone);
  ASSERT_EQ(answer.members.size(), 3u);
  EXPECT_EQ(answer.members[0].error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.members[1].error_code, ErrorCode::kUnknownMemberId);
  EXPECT_EQ(answer.members[2].error_code, ErrorCode::kNone) << "static, by its instance id";
  EXPECT_EQ(state(), "Empty");
  request.group_id = "none";
  const auto unknown = world_.run(groups_->leave(request, 3));
  EXPECT_EQ(unknown.error_code, ErrorCode::kNone);
  EXPECT_EQ(unknown.members.at(0).error_code, ErrorCode::kUnknownMemberId);
}

TEST_F(StoredGroupsTest, HeartbeatsNameWhatIsWrong) {
  const auto members = stable({join_request(), join_request()});
  const std::string& id = members[0].member_id;
  EXPECT_EQ(heartbeat("nobody", 1), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(heartbeat(id, 0), ErrorCode::kIllegalGeneration);
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::kNone);
  HeartbeatRequest request = heartbeat_request(id, 1);
  request.group_id.clear();
  EXPECT_EQ(groups_->heartbeat(request).error_code, ErrorCode::kInvalidGroupId);
  request.group_id = "other";
  EXPECT_EQ(groups_->heartbeat(request).error_code, ErrorCode::kUnknownMemberId);
  const auto third = join(join_request());
  EXPECT_EQ(heartbeat(id, 1), ErrorCode::kRebalanceInProgress);
}

TEST_F(StoredGroupsTest, AWrongJoinIsRefusedAndTheGroupUndisturbed) {
  const auto members = stable({join_request()});
  const auto refusal = [&](JoinGroupRequest request) {
    const auto answer = join(std::move(request), 5);
    EXPECT_TRUE(answer->has_value());
    EXPECT_EQ((*answer)->generation_id, -1);
    return (*answer)->error_code;
  };
  JoinGroupRequest other = join_request();
  other.protocols = {{"x", Slice()}};
  EXPECT_EQ(refusal(other), ErrorCode::kInconsistentGroupProtocol);
  other = join_request();
  other.protocol_type = "connect";
  EXPECT_EQ(refusal(other), ErrorCode::kInconsistentGroupProtocol);
  other.protocols.clear();
  EXPECT_EQ(refusal(other), ErrorCode::kInconsistentGroupProtocol);
  other = join_request();
  other.session_timeout_ms = 5'999;
  EXPECT_EQ(refusal(other), ErrorCode::kInvalidSessionTimeout);
  other = join_request();
  other.group_id.clear();
  EXPECT_EQ(refusal(other), ErrorCode::kInvalidGroupId);
  EXPECT_EQ(refusal(join_request("nobody")), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(refusal(join_request("nobody", "i")), ErrorCode::kUnknownMemberId);
  EXPECT_EQ(heartbeat(members[0].member_id, 1), ErrorCode::kNone);
}

TEST_F(StoredGroupsTest, AStaticMemberThatComesBackKeepsItsAssignmentWithoutARebalance) {
  const auto members = stable({join_request("", "i"), join_request()});
  ASSERT_EQ(members[0].leader, members[0].member_id);
  const auto back = join(join_request("", "i"), 7);
  world_.run_for(100ms);
  ASSERT_TRUE(back->has_value());
  EXPECT_EQ((*back)->error_code, ErrorCode::kNone);
  EXPECT_EQ((*back)->generation_id, 1);
  EXPECT_EQ((*back)->leader, members[0].member_id) << "the old id: nobody assigns anew";
  EXPECT_NE((*back)->member_id, members[0].member_id);
  EXPECT_TRUE((*back)->members.empty());
  EXPECT_EQ(state(), "Stable");
  const auto synced = sync(sync_request((*back)->member_id, 1));
  ASSERT_TRUE(synced->has_value());
  EXPECT_EQ((*synced)->assignment.text(), "for " + members[0].member_id);
  EXPECT_EQ(heartbeat(members[1].member_id, 1), ErrorCode::kNone);

  HeartbeatRequest fenced = heartbeat_request(members[0].member_id, 1);
  fenced.group_instance_id = "i";
  EXPECT_EQ(groups_->heartbeat(fenced).error_code, ErrorCode::kFencedInstanceId);
  SyncGroupRequest old_sync = sync_request(members[0].member_id, 1);
  old_sync.group_instance_id = "i";
  EXPECT_EQ(sync(old_sync)->value().error_code, ErrorCode::kFencedInstanceId);
  EXPECT_EQ(join(join_request(members[0].member_id, "i"))->value().error_code,
            ErrorCode::kFencedInstanceId);
  restart();
  EXPECT_EQ(heartbeat((*back)->member_id, 1), ErrorCode::kNone) << "the new id is kept";
}

TEST_F(StoredGroupsTest, ARestartInStableIsNotSeenByMembersThatOnlyHeartbeat) {
  const auto members = stable({join_request(), join_request()});
  const auto before = groups_->describe({{"g"}, false}).groups.at(0);
  for (int i = 0; i < 2; ++i) {
    i == 0 ? restart() : crash();
    for (const auto& member : members) {
      EXPECT_EQ(heartbeat(member.member_id, 1), ErrorCode::kNone);
      EXPECT_EQ(sync(sync_request(member.member_id, 1))->value().assignment.text(),
                "for " + member.member_id);
    }
    const auto after = groups_->describe({{"g"}, false}).groups.at(0);
    EXPECT_EQ(after.group_state, "Stable");
    EXPECT_EQ(after.protocol_data, before.protocol_data);
    ASSERT_EQ(after.members.size(), 2u);
    EXPECT_EQ(after.members[1].client_host, "/127.0.0.1");
    EXPECT_TRUE(equal(after.members[1].member_metadata, before.members[1].member_metadata));
  }
  world_.run_for(11s);
  EXPECT_EQ(state(), "Empty") << "their sessions run again";
}

TEST_F(StoredGroupsTest, AnEmptyGroupKeepsItsGenerationOverARestart) {
  const auto members = stable({join_request()});
  EXPECT_EQ(leave(members[0].member_id), ErrorCode::kNone);
  EXPECT_EQ(state(), "Empty");
  crash();
  EXPECT_EQ(state(), "Empty");
  const auto joined = join(join_request());
  world_.run_for(kInitialRebalanceDelay);
  EXPECT_GT(joined->value().generation_id, members[0].generation_id + 1);
}

TEST_F(StoredGroupsTest, AnAssignmentThatCannotBeKeptIsNotAnswered) {
  const auto joined = join(join_request());
  world_.run_for(kInitialRebalanceDelay);
  const auto& member = joined->value();
  SyncGroupRequest request = sync_request(member.member_id, 1);
  request.assignments = {{member.member_id, Slice::copy_of("a")}};
  ScopedLogCapture quiet;
  const auto synced = sync(request);
  EXPECT_FALSE(synced->has_value()) << "it is being written";
  stop_tablet();
  ASSERT_TRUE(synced->has_value());
  EXPECT_EQ((*synced)->error_code, ErrorCode::kCoordinatorNotAvailable);
  EXPECT_EQ(heartbeat(member.member_id, 1), ErrorCode::kRebalanceInProgress);
  EXPECT_EQ(join(join_request(member.member_id))->value().error_code,
            ErrorCode::kCoordinatorNotAvailable);
  boot_tablet();
  const auto again = join(join_request(member.member_id));
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->generation_id, 2);
  sync_all({**again});
}

TEST_F(StoredGroupsTest, BeforeLoadingEndsHeartbeatsAreTakenAndTheRestIsRefused) {
  const auto members = stable({join_request()});
  groups_.reset();
  make_groups();
  EXPECT_EQ(heartbeat(members[0].member_id, 1), ErrorCode::kNone);
  EXPECT_EQ(join(join_request())->value().error_code, ErrorCode::kCoordinatorLoadInProgress);
  EXPECT_EQ(groups_->list({}).error_code, ErrorCode::kCoordinatorLoadInProgress);
  EXPECT_EQ(groups_->describe({{"g"}, false}).groups.at(0).error_code,
            ErrorCode::kCoordinatorLoadInProgress);
  stop_tablet();
  EXPECT_FALSE(world_.run(groups_->load()));
  boot_tablet();
  EXPECT_TRUE(world_.run(groups_->load()));
  EXPECT_EQ(heartbeat(members[0].member_id, 1), ErrorCode::kNone);
}

TEST_F(StoredGroupsTest, HeldRequestsAreAnsweredWhenTheCoordinatorGoes) {
  const auto joined = join(join_request());
  EXPECT_FALSE(joined->has_value());
  groups_.reset();
  ASSERT_TRUE(joined->has_value());
  EXPECT_EQ((*joined)->error_code, ErrorCode::kCoordinatorNotAvailable);
}

TEST_F(StoredGroupsTest, CommitsAreAdmittedByMembershipAndGeneration) {
  OffsetCommitRequest request;
  request.group_id = "g";
  const auto admit = [&] { return world_.run(groups_->admit_commit(request)); };
  request.generation_id = 3;
  EXPECT_EQ(admit(), ErrorCode::kIllegalGeneration) << "no such group";
  EXPECT_FALSE(groups_->exists("g"));
  request.generation_id = -1;
  EXPECT_EQ(admit(), ErrorCode::kNone);
  restart();
  EXPECT_EQ(state(), "Empty") << "the commit made the group";

  const auto joined = join(join_request());
  world_.run_for(kInitialRebalanceDelay);
  const JoinGroupResponse member = joined->value();
  EXPECT_EQ(admit(), ErrorCode::kUnknownMemberId) << "an outsider";
  request.member_id = member.member_id;
  request.generation_id = member.generation_id;
  EXPECT_EQ(admit(), ErrorCode::kRebalanceInProgress) << "no assignment yet";
  sync_all({member});
  EXPECT_EQ(admit(), ErrorCode::kNone);
  request.generation_id -= 1;
  EXPECT_EQ(admit(), ErrorCode::kIllegalGeneration);
  request.generation_id += 1;
  const auto second = join(join_request());
  EXPECT_EQ(admit(), ErrorCode::kNone) << "while a rebalance is prepared";
  request.member_id = "nobody";
  EXPECT_EQ(admit(), ErrorCode::kUnknownMemberId);
}

TEST_F(StoredGroupsTest, IdsThatNoConsumerCanHaveAreRefused) {
  for (const std::size_t size : {std::size_t{0}, kGroupIdBytesMax + 1}) {
    JoinGroupRequest request = join_request();
    OffsetCommitRequest commit;
    request.group_id = commit.group_id = std::string(size, 'x');
    EXPECT_EQ(join(request)->value().error_code, ErrorCode::kInvalidGroupId);
    EXPECT_EQ(world_.run(groups_->admit_commit(commit)), ErrorCode::kInvalidGroupId);
  }
  OffsetCommitRequest commit;
  commit.group_id = std::string(kGroupIdBytesMax, 'x');
  EXPECT_EQ(world_.run(groups_->admit_commit(commit)), ErrorCode::kNone);
}

TEST_F(StoredGroupsTest, AGroupIsKnownToHaveOffsetsOnceAMembersCommitIsAdmitted) {
  const JoinGroupResponse member = stable({join_request()})[0];
  OffsetCommitRequest commit;
  commit.group_id = "g";
  commit.member_id = member.member_id;
  commit.generation_id = member.generation_id;
  EXPECT_EQ(world_.run(groups_->admit_commit(commit)), ErrorCode::kNone);
  crash();
  EXPECT_EQ(state(), "Stable");
  leave(member.member_id);
  world_.run_for(2 * kEmptyGroupKept);
  EXPECT_TRUE(groups_->exists("g"));
}

TEST_F(StoredGroupsTest, OnlyEmptyGroupsCanBeRemovedAndStayAway) {
  const auto remove = [&] { return world_.run(groups_->remove("g")); };
  EXPECT_EQ(remove(), ErrorCode::kGroupIdNotFound);
  const auto members = stable({join_request()});
  EXPECT_EQ(remove(), ErrorCode::kNonEmptyGroup);
  EXPECT_TRUE(groups_->subscribed("g", "t"));
  EXPECT_FALSE(groups_->subscribed("g", "u"));
  EXPECT_EQ(leave(members[0].member_id), ErrorCode::kNone);
  EXPECT_FALSE(groups_->subscribed("g", "t"));
  EXPECT_EQ(remove(), ErrorCode::kNone);
  EXPECT_EQ(state(), "Dead");
  EXPECT_TRUE(groups_->list({}).groups.empty());
  restart();
  EXPECT_FALSE(groups_->exists("g"));
}

TEST_F(StoredGroupsTest, ListingsAreFilteredByState) {
  stable({join_request()});
  ListGroupsRequest request;
  ASSERT_EQ(groups_->list(request).groups.size(), 1u);
  EXPECT_EQ(groups_->list(request).groups[0].group_state, "Stable");
  EXPECT_EQ(groups_->list(request).groups[0].protocol_type, "consumer");
  request.states_filter = {"Empty", "Dead"};
  EXPECT_TRUE(groups_->list(request).groups.empty());
}

TEST_F(StoredGroupsTest, AnEmptyGroupWithoutOffsetsGoesAfterAWhile) {
  const auto members = stable({join_request()});
  leave(members[0].member_id);
  world_.run_for(kEmptyGroupKept - 1s);
  EXPECT_TRUE(groups_->exists("g"));
  world_.run_for(2s);
  EXPECT_FALSE(groups_->exists("g"));
  restart();
  EXPECT_FALSE(groups_->exists("g"));
}

TEST_F(StoredGroupsTest, WithTooManyGroupsAnEmptyOneGoesOrTheNewOneIsRefused) {
  leave(stable({join_request()})[0].member_id);
  const auto ask = [&](std::size_t number) {
    JoinGroupRequest request = join_request();
    request.group_id = fmt::format("n{}", number);
    return join(std::move(request), 5)->value().error_code;
  };
  for (std::size_t i = 1; i < kGroupsMax; ++i) ASSERT_EQ(ask(i), ErrorCode::kMemberIdRequired);
  EXPECT_TRUE(groups_->exists("g"));
  EXPECT_EQ(ask(kGroupsMax), ErrorCode::kMemberIdRequired);
  EXPECT_FALSE(groups_->exists("g"));
  EXPECT_EQ(ask(kGroupsMax + 1), ErrorCode::kGroupMaxSizeReached);
  world_.run_for(100ms);
  EXPECT_EQ(ask(kGroupsMax + 2), ErrorCode::kGroupMaxSizeReached);
  world_.run_for(11s);
  EXPECT_EQ(ask(kGroupsMax + 2), ErrorCode::kMemberIdRequired) << "ids that nobody used are gone";
}

TEST_F(StoredGroupsTest, AllGroupsTogetherKeepABoundedNumberOfBytes) {
  halt();
  bytes_max_ = 100'000;
  start();
  const auto ask = [&](const std::string& group, const std::string& member) {
    JoinGroupRequest request = join_request(member);
    request.group_id = group;
    request.protocols[0].metadata = Slice::copy_of(std::string(30'000, 'x'));
    return join(std::move(request));
  };
  const std::vector<Later<JoinGroupResponse>> joins{ask("a", ""), ask("b", ""), ask("c", "")};
  EXPECT_EQ(ask("d", "")->value().error_code, ErrorCode::kGroupMaxSizeReached);
  EXPECT_FALSE(groups_->exists("d"));
  world_.run_for(kInitialRebalanceDelay + 10ms);
  for (const auto& answer : joins) EXPECT_EQ(answer->value().error_code, ErrorCode::kNone);
  // Members may rejoin.
  const auto again = ask("b", joins[1]->value().member_id);
  world_.run_for(10ms);
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ((*again)->error_code, ErrorCode::kNone);
  SyncGroupRequest assigns = sync_request(joins[0]->value().member_id, 1);
  assigns.group_id = "a";
  assigns.assignments.push_back({assigns.member_id, Slice::copy_of(std::string(30'000, 'x'))});
  EXPECT_EQ(sync(assigns)->value().error_code, ErrorCode::kCoordinatorNotAvailable);
  LeaveGroupRequest leaves = leave_request(joins[2]->value().member_id);
  leaves.group_id = "c";
  EXPECT_EQ(world_.run(groups_->leave(leaves, 1)).error_code, ErrorCode::kNone);
  const auto assigned = sync(assigns);
  world_.run_for(100ms);
  ASSERT_TRUE(assigned->has_value());
  EXPECT_EQ((*assigned)->error_code, ErrorCode::kNone);
}

TEST_F(StoredGroupsTest, AssignmentsThatReplaceOthersNeedNoRoomBesideThem) {
  halt();
  bytes_max_ = 100'000;
  start();
  const auto joined = [&](const std::string& member) {
    const auto answer = join(join_request(member));
    world_.run_for(kInitialRebalanceDelay + 10ms);
    return answer->value();
  };
  const auto assigned = [&](const JoinGroupResponse& member, std::size_t bytes) {
    SyncGroupRequest request = sync_request(member.member_id, member.generation_id);
    request.assignments.push_back({member.member_id, Slice::copy_of(std::string(bytes, 'x'))});
    const auto answer = sync(std::move(request));
    world_.run_for(100ms);
    return answer->value().error_code;
  };
  const JoinGroupResponse member = joined("");
  EXPECT_EQ(assigned(member, 60'000), ErrorCode::kNone);
  EXPECT_EQ(assigned(member, 60'000), ErrorCode::kNone) << "the answer was lost";
  EXPECT_EQ(assigned(joined(member.member_id), 60'000), ErrorCode::kNone) << "a rebalance";
  EXPECT_EQ(assigned(member, 160'000), ErrorCode::kCoordinatorNotAvailable);
}

TEST_F(StoredGroupsTest, ListsOfMoreMembersThanAGroupHasAreRefused) {
  const auto members = stable({join_request()});
  LeaveGroupRequest leaves = leave_request(members[0].member_id);
  leaves.members.assign(kMembersMax + 1, {"nobody", std::nullopt});
  EXPECT_EQ(world_.run(groups_->leave(leaves, 4)).error_code, ErrorCode::kInvalidRequest);
  SyncGroupRequest assigns = sync_request(members[0].member_id, members[0].generation_id);
  assigns.assignments.assign(kMembersMax + 1, {"nobody", {}});
  EXPECT_EQ(sync(assigns)->value().error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(state(), "Stable");
}

TEST_F(StoredGroupsTest, ARecordThatRottedIsLeftOut) {
  stable({join_request()});
  ASSERT_TRUE(world_.run(tablet_->execute({WriteKey{"g/bad", Slice::copy_of("rot"), false}})));
  const ScopedLogCapture log;
  restart();
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_TRUE(groups_->exists("g"));
  EXPECT_FALSE(groups_->exists("bad"));
}

}  // namespace
}  // namespace moraine::kafka
