// LaneGroups: the consumer groups of a node, for the connections of one of its lanes.
//
// Promise    As Groups: calls run on the lane of StoredGroups and return on this one.
// Threading  `lane`.
#pragma once

#include "gateway/kafka/groups/stored_groups.h"

namespace moraine::kafka {

class LaneGroups final : public Groups {
 public:
  // `groups` is used on `home`; all three outlive every call.
  LaneGroups(StoredGroups& groups, Executor& home, Executor& lane)
      : groups_(groups), home_(home), lane_(lane) {}

  Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version,
                               GroupClient client) override;
  Task<SyncGroupResponse> sync(SyncGroupRequest request, std::int16_t version) override;
  Task<HeartbeatResponse> heartbeat(HeartbeatRequest request) override;
  Task<LeaveGroupResponse> leave(LeaveGroupRequest request, std::int16_t version) override;
  Task<DescribeGroupsResponse> describe(DescribeGroupsRequest request) override;
  Task<std::size_t> list_bytes() override;
  Task<ListGroupsResponse> list(ListGroupsRequest request) override;
  Task<ErrorCode> admit_commit(const OffsetCommitRequest& request) override;
  Task<ErrorCode> remove(std::string group) override;
  Task<bool> exists(std::string group) override;
  Task<bool> subscribed(std::string group, std::string topic) override;

 private:
  // The result of a plain call there.
  template <class Call>
  Task<std::invoke_result_t<Call>> there(Call call);

  StoredGroups& groups_;
  Executor& home_;
  Executor& lane_;
};

}  // namespace moraine::kafka
