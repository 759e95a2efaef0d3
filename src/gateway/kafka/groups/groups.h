// Groups: the coordinator of consumer groups, Kafka's classic protocol.
//
// Promise    At most one generation of a group is current; a member's assignment is answered only
//            when it is durable, so a restart of the server finds the group as its members know it.
// Threading  The executor of the connection (lane_groups.h).
// Limits     kGroupsMax, kMembersMax; sessions within kSessionTimeoutMin..Max.
// Errors     Error codes of the protocol, inside the responses.
#pragma once

#include <string>

#include "gateway/kafka/protocol/messages.h"
#include "io/task.h"

namespace moraine::kafka {

struct GroupClient {
  std::string id;    // The client_id of the request.
  std::string host;  // "/127.0.0.1"
};

class Groups {
 public:
  virtual ~Groups() = default;

  // Returns at the end of the rebalance.
  virtual Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version,
                                       GroupClient client) = 0;
  virtual Task<SyncGroupResponse> sync(SyncGroupRequest request, std::int16_t version) = 0;
  virtual Task<HeartbeatResponse> heartbeat(HeartbeatRequest request) = 0;
  virtual Task<LeaveGroupResponse> leave(LeaveGroupRequest request, std::int16_t version) = 0;
  virtual Task<DescribeGroupsResponse> describe(DescribeGroupsRequest request) = 0;
  // The memory of the longest answer of list().
  virtual Task<std::size_t> list_bytes() = 0;
  virtual Task<ListGroupsResponse> list(ListGroupsRequest request) = 0;

  // Whether this member may commit offsets now. Also counts as a heartbeat. Creates an unknown
  // group when the generation is -1. The request outlives the call.
  virtual Task<ErrorCode> admit_commit(const OffsetCommitRequest& request) = 0;
  // kNone: the group was removed; the caller removes its committed offsets. kNonEmptyGroup,
  // kGroupIdNotFound.
  virtual Task<ErrorCode> remove(std::string group) = 0;
  virtual Task<bool> exists(std::string group) = 0;
  // Whether live members subscribe to the topic (OffsetDelete must refuse then).
  virtual Task<bool> subscribed(std::string group, std::string topic) = 0;
};

}  // namespace moraine::kafka
